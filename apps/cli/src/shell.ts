import type { AgentStatus } from '@belay/agent';
import type { RestoreStatus } from '@belay/sdk';
import type { Environment } from './host.js';
import type { Jq } from './output/format.js';
import type { Sink } from './output/output.js';

export interface Choice {
  value: string;
  label: string;
  hint?: string;
}

/** Prompts for the person at the terminal. Each throws `aborted` when the person leaves. */
export interface Prompts {
  confirm(message: string): Promise<boolean>;
  /** Prompts for a value that must not be shown. */
  secret(message: string): Promise<string>;
  select(message: string, choices: Choice[]): Promise<string>;
  /** Asks again until `check` has nothing to say. */
  text(
    message: string,
    options?: { placeholder?: string; check?: (value: string) => string | undefined },
  ): Promise<string>;
}

export interface TokenRequest {
  user: string;
  ttl: string;
  groups?: string[];
  label?: string;
}

export interface AgentRequest {
  name: string;
  ttl: string;
}

export interface Beginning {
  identityProvider: string;
  system: string;
  domain: string;
  messages: string | undefined;
}

/** Where in a file something is; without a line, the file as a whole. */
interface Place {
  file: string;
  line?: number;
  column?: number;
}

export interface Validation {
  ok: boolean;
  /** The file or folder that was read. */
  source: string;
  /** One for each fault, or for each thing that should not stay so when it is valid: file, key or line, and reason. */
  messages: readonly string[];
  /** The same in parts; empty when the configuration is not what is wrong. */
  faults: readonly (Place & { path?: string; message: string; suggestion?: string })[];
}

/** What a change of the configuration would do to people. */
export type ConfigurationPlan =
  | {
      ok: true;
      roles: readonly {
        role: string;
        change: string;
        terms: readonly Record<'term' | 'before' | 'after', string>[];
        people: readonly Record<'who' | 'workflow' | 'before' | 'after', string>[];
      }[];
      systems: readonly { provider: string; change: string }[];
      past:
        | (Record<'count' | 'rejected' | 'otherwise' | 'more_approvals' | 'unknown', number> & {
            more: boolean;
            examples: readonly Record<
              'execution_id' | 'requested_at' | 'role' | 'requester' | 'before' | 'after',
              string
            >[];
          })
        | null;
    }
  | { ok: false; messages: readonly string[] };

/** What became of the policy cases of a configuration. */
export interface PolicyTest {
  /** Whether the configuration and the cases could be read; otherwise `messages` says why not. */
  valid: boolean;
  source: string;
  messages: readonly string[];
  cases: readonly {
    file: string;
    name: string;
    ok: boolean;
    result: string;
    because: string;
    approvals: readonly object[];
    grants: readonly object[];
    differences: readonly string[];
  }[];
  /** The roles that no case requests. */
  untested: readonly string[];
}

/** The archives of a folder, and what is wrong with each; null when it is whole. */
export type Archives = { file: string; month: string | null; rows: number; fault: string | null }[];

/** What only the server's own program can do; it is not loaded until a command needs it. */
export interface Operator {
  /** Resolves when the server has stopped. */
  start(): Promise<void>;
  validate(path: string | undefined): Promise<Validation>;
  /** What `init` can begin with. */
  blueprints(): Promise<Record<'identityProviders' | 'systems' | 'messengers', { name: string; label: string }[]>>;
  /** Writes a new configuration, and returns the names of its files. */
  init(folder: string, beginning: Beginning): Promise<string[]>;
  /** Plays the policy cases of a configuration; they are beside it unless a path of theirs is given. */
  testPolicies(path: string | undefined, cases: string | undefined): Promise<PolicyTest>;
  /** Compares two configurations; with `since`, by the requests of the database since then too. */
  plan(path: string, against: string, since: Date | undefined): Promise<ConfigurationPlan>;
  /** The JSON Schema of configuration files, or of policy cases. */
  schema(of: 'configuration' | 'cases'): Promise<string>;
  enrollAgent(request: AgentRequest): Promise<{ credential: string; expires_at: string; agent: { name: string } }>;
  revokeAccess(request: { of: string; reason: string }): Promise<{ message: string; executions: string[] }>;
  /** Stops all grants until every provider was compared with a restored database. */
  beginRestore(request: { reason: string }): Promise<{ epoch: number }>;
  readRestore(): Promise<RestoreStatus>;
  answerLeftover(request: { id: string; answer: 'keep' | 'revoke'; reason: string }): Promise<{ message: string }>;
  skipProvider(request: { provider: string; reason: string }): Promise<{ message: string }>;
  openRestore(): Promise<{ message: string }>;
  /** Writes every month of the ledger that is over to a folder; returns which, and which wait for an open request. */
  archiveLedger(folder: string): Promise<{
    archived: { month: string; rows: number; sha256: string; file: string }[];
    waiting: string[];
  }>;
  verifyArchives(folder: string): Promise<Archives>;
  /** Seals with a new key from now on; what the one before it sealed can still be opened. */
  rotateEncryption(): Promise<{ kid: string; retired: string | null; created_at: string }>;
  /** Secrets of the local vault, each named `path#key`. */
  setSecret(name: string, value: string): Promise<{ path: string; key: string }>;
  listSecrets(): Promise<{ path: string; key: string }[]>;
  /** Whether there was one. */
  removeSecret(name: string): Promise<boolean>;
  /** The tokens that are still valid, of one person or of all, without their secrets. */
  listTokens(request: { user?: string }): Promise<
    {
      id: string;
      user: { email: string; name: string };
      label: string | null;
      created_at: string;
      expires_at: string;
    }[]
  >;
  revokeToken(request: { id: string }): Promise<{ message: string; id: string }>;
  /** Ends all that a person has: logins, tokens, open requests and access. */
  stopUser(request: {
    user: string;
    reason: string;
  }): Promise<{ message: string; logins: number; tokens: number; requests: string[]; access: string[] }>;
  /** The token with which the directory of a provider provisions people; shown once. */
  createScimToken(request: {
    provider: string;
    ttl: string;
  }): Promise<{ token: string; id: string; provider: string; expires_at: string }>;
  listScimTokens(): Promise<{ id: string; provider: string; created_at: string; expires_at: string }[]>;
  revokeScimToken(request: { id: string }): Promise<{ message: string }>;
  createToken(request: TokenRequest): Promise<{ token: string; expires_at: string; user: { email: string } }>;
}

/** The agent of this machine, as far as its own program has to do it. */
export interface AgentControl {
  /** Runs it in this process; what is given counts for more than the environment. */
  run(variables: Record<string, string>): Promise<void>;
  /** What can be said of it without asking it. */
  status(): Promise<AgentStatus>;
  join(request: {
    server: string;
    credential: string;
    name: string | undefined;
    signal: AbortSignal;
  }): Promise<{ server: string; name: string; catalog_version: string }>;
}

/** The server that would start here, as its variables say. */
export interface LocalServer {
  port: number;
  host: string;
  baseUrl: string | undefined;
  redisUrl: string | undefined;
  secret: string | undefined;
  /** Its database is its own, in the data folder. */
  embedded: boolean;
  dataDirectory: string;
  trustProxy: number | string | undefined;
}

export type ConfigurationInspection =
  | {
      ok: true;
      callbacks: readonly string[];
      providers: readonly {
        provider: string;
        type: string;
        fault: string | undefined;
        weaknesses: readonly { message: string; cure: string }[];
        obstacles: readonly { message: string; cure: string; roles: readonly string[] }[];
      }[];
    }
  | { ok: false; messages: readonly string[] };

export type DatabaseInspection =
  | { kind: 'own'; version: number; name: string; mayMigrate: boolean; migrated: boolean; closed: boolean }
  | { kind: 'embedded'; exists: boolean }
  | { kind: 'fault'; message: string };

/** What the server's own program knows about a setup; it changes nothing. */
export interface Diagnosis {
  /** One for each variable that cannot be used: name, value unless it is secret, and cure. */
  environmentFaults(): Promise<readonly string[]>;
  /** Undefined when nothing here says that there is to be one, or its variables cannot be used. */
  localServer(): Promise<LocalServer | undefined>;
  /**
   * Returns the configuration and what was found in it, or undefined when none is set; a server does not start without
   * one.
   */
  configuration(): Promise<{ source: string; inspection: ConfigurationInspection } | undefined>;
  database(): Promise<DatabaseInspection>;
}

/** A program that was started. */
export interface Program {
  /** Its exit code; 128 and the signal's number when a signal ended it, 127 when there is no such program. */
  ended: Promise<number>;
  /** Passes a signal of this process on, unless the program got it as well. */
  signal(signal: NodeJS.Signals): void;
}

/** Other programs, and the signals of this process, which are theirs while they run. */
export interface Programs {
  /** Starts a program with the input and output of this process. `environment`: variables for it, where this process has no others of these names. */
  start(command: string, args: readonly string[], environment: Record<string, string>): Program;
  /** Calls the listener instead of ending this process, until the function that it returns is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
}

/** Everything around the commands. main.ts makes the real one; nothing else touches the process. */
export interface Shell {
  /** Of this program. */
  version: string;
  stdout: Sink;
  stderr: Sink;
  /** Whether a person can answer prompts. */
  interactive: boolean;
  colour: boolean;
  /** Lines may move: standard error is a terminal that can draw. */
  animated: boolean;
  /** `BELAY_URL` and `BELAY_TOKEN`. */
  server: string | undefined;
  token: string | undefined;
  /** The URL of this machine's agent; undefined when it must not be looked for. */
  agent: string | undefined;
  credentialsFile: string;
  /** Files have owners and modes here. */
  posix: boolean;
  prompts: Prompts;
  programs: Programs;
  /** Loads jq. From then on Ctrl-C ends the process, which nothing else could while a program runs. */
  loadJq(): Promise<Jq>;
  /** All that comes in on standard input, to its end. */
  readInput(): Promise<string>;
  /** Shows a page to the user if it can; it is no failure when it cannot. */
  openBrowser(url: string): void;
  randomBytes(size: number): Uint8Array;
  clock(): Date;
  /** Resolves after a time in milliseconds, or rejects when the signal aborts. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** How long a server may take for one answer, in milliseconds. */
  patience: number;
  /** Aborts on Ctrl-C. */
  signal: AbortSignal;
  operator: Operator;
  diagnosis: Diagnosis;
  agentControl: AgentControl;
  host: Environment;
}
