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

/** Prompts for the person at the terminal. Each throws `aborted` when the person cancels. */
export interface Prompts {
  confirm(message: string): Promise<boolean>;
  /** Prompts for a value that must not be shown. */
  secret(message: string): Promise<string>;
  select(message: string, choices: Choice[]): Promise<string>;
  /** Prompts again until `check` returns no error. */
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

/** The position of a fault in a file; without a line, the file as a whole. */
interface Place {
  file: string;
  line?: number;
  column?: number;
}

export interface Validation {
  ok: boolean;
  /** The file or folder that was read. */
  source: string;
  /** One message for each fault, or for each warning when the configuration is valid: file, key or line, and reason. */
  messages: readonly string[];
  /** The same messages in parts; empty when the fault is not in the configuration. */
  faults: readonly (Place & { path?: string; message: string; suggestion?: string })[];
}

/** The effect of a configuration change on people. */
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

/** The results of the policy cases of a configuration. */
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

/** The archives of a folder, and the fault of each; null when the archive is intact. */
export type Archives = { file: string; month: string | null; rows: number; fault: string | null }[];

/** Commands that only the server's own program can run; it is loaded when a command needs it. */
export interface Operator {
  /** Resolves when the server has stopped. */
  start(): Promise<void>;
  validate(path: string | undefined): Promise<Validation>;
  /** Returns the building blocks that `init` can start from. */
  blueprints(): Promise<Record<'identityProviders' | 'systems' | 'messengers', { name: string; label: string }[]>>;
  /** Writes a new configuration, and returns the names of its files. */
  init(folder: string, beginning: Beginning): Promise<string[]>;
  /**
   * Runs the policy cases of a configuration: those at the path `cases`, or else those beside the configuration or in
   * its folder.
   */
  testPolicies(path: string | undefined, cases: string | undefined): Promise<PolicyTest>;
  /** Compares two configurations; with `since`, also by the requests in the database since then. */
  plan(path: string, against: string, since: Date | undefined): Promise<ConfigurationPlan>;
  /** Returns the JSON Schema of configuration files, or of policy cases. */
  schema(of: 'configuration' | 'cases'): Promise<string>;
  enrollAgent(request: AgentRequest): Promise<{ credential: string; expires_at: string; agent: { name: string } }>;
  revokeAccess(request: { of: string; reason: string }): Promise<{ message: string; executions: string[] }>;
  /** Stops all grants until every provider has been compared with the restored database. */
  beginRestore(request: { reason: string }): Promise<{ epoch: number }>;
  readRestore(): Promise<RestoreStatus>;
  answerLeftover(request: { id: string; answer: 'keep' | 'revoke'; reason: string }): Promise<{ message: string }>;
  skipProvider(request: { provider: string; reason: string }): Promise<{ message: string }>;
  openRestore(): Promise<{ message: string }>;
  /** Writes every complete month of the ledger to a folder. Returns the months written, and those that wait for an open request. */
  archiveLedger(folder: string): Promise<{
    archived: { month: string; rows: number; sha256: string; file: string }[];
    waiting: string[];
  }>;
  verifyArchives(folder: string): Promise<Archives>;
  /** Seals with a new key from now on; data that the previous key sealed can still be opened. */
  rotateEncryption(): Promise<{ kid: string; retired: string | null; created_at: string }>;
  /** Stores a secret in the local vault; its name is `path#key`. */
  setSecret(name: string, value: string): Promise<{ path: string; key: string }>;
  listSecrets(): Promise<{ path: string; key: string }[]>;
  /** Resolves to whether the secret existed. */
  removeSecret(name: string): Promise<boolean>;
  /** Returns the tokens that are still valid, of one person or of all people, without their secrets. */
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
  /** Ends all logins, tokens, open requests and access of a person. */
  stopUser(request: {
    user: string;
    reason: string;
  }): Promise<{ message: string; logins: number; tokens: number; requests: string[]; access: string[] }>;
  /** Records that two users who have or had one address are two people. */
  separatePeople(request: { user: string; other: string; reason: string }): Promise<{ message: string }>;
  /** Creates the token with which a provider's directory provisions people; it is shown once. */
  createScimToken(request: {
    provider: string;
    ttl: string;
  }): Promise<{ token: string; id: string; provider: string; expires_at: string }>;
  listScimTokens(): Promise<{ id: string; provider: string; created_at: string; expires_at: string }[]>;
  revokeScimToken(request: { id: string }): Promise<{ message: string }>;
  createToken(request: TokenRequest): Promise<{ token: string; expires_at: string; user: { email: string } }>;
}

/** Controls the agent of this machine through the agent's own program. */
export interface AgentControl {
  /** Runs the agent in this process; the given variables take precedence over the environment. */
  run(variables: Record<string, string>): Promise<void>;
  /** Returns the status that can be read without a request to the agent. */
  status(): Promise<AgentStatus>;
  join(request: {
    server: string;
    credential: string;
    name: string | undefined;
    signal: AbortSignal;
  }): Promise<{ server: string; name: string; catalog_version: string }>;
}

/** The server that the variables would start on this machine. */
export interface LocalServer {
  port: number;
  host: string;
  baseUrl: string | undefined;
  redisUrl: string | undefined;
  secret: string | undefined;
  /** Whether the server uses its own database in the data folder. */
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
  | {
      kind: 'own';
      version: number;
      name: string;
      mayMigrate: boolean;
      migrated: boolean;
      closed: boolean;
      fsync: boolean;
      unverified: string | undefined;
    }
  | { kind: 'embedded'; exists: boolean }
  | { kind: 'fault'; message: string };

/** What the server's own program can find out about a setup, without changing it. */
export interface Diagnosis {
  /** Returns one fault for each variable with an invalid value: name, value unless it is secret, and fix. */
  environmentFaults(): Promise<readonly string[]>;
  /** Returns undefined when no server is set up here, or when its variables are invalid. */
  localServer(): Promise<LocalServer | undefined>;
  /** Returns the configuration and its faults; undefined when there is no configuration. */
  configuration(): Promise<{ source: string; inspection: ConfigurationInspection } | undefined>;
  database(): Promise<DatabaseInspection>;
}

/** A program that was started. */
export interface Program {
  /**
   * Resolves to its exit code; to 128 plus the signal's number when a signal ended it; to 127 when the program does not
   * exist, and to 126 when it cannot be started for another reason.
   */
  ended: Promise<number>;
  /** Passes a signal of this process on, unless the program got it as well. */
  signal(signal: NodeJS.Signals): void;
}

/** Starts other programs, and gives them the signals of this process while they run. */
export interface Programs {
  /** Starts a program with the input and output of this process. `environment` adds variables that this process does not have. */
  start(command: string, args: readonly string[], environment: Record<string, string>): Program;
  /** Calls the listener instead of ending this process, until the function that it returns is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
}

/** Everything outside the command line that the commands use. main.ts creates the real one. */
export interface Shell {
  /** The version of this program. */
  version: string;
  stdout: Sink;
  stderr: Sink;
  /** Whether a person can answer prompts. */
  interactive: boolean;
  colour: boolean;
  /** Whether lines may be redrawn: standard error is a terminal that supports it. */
  animated: boolean;
  /** The values of `BELAY_URL` and `BELAY_TOKEN`. */
  server: string | undefined;
  token: string | undefined;
  /** The URL of this machine's agent; undefined when commands must not look for one. */
  agent: string | undefined;
  credentialsFile: string;
  /** Whether files have owners and modes on this system. */
  posix: boolean;
  prompts: Prompts;
  programs: Programs;
  /** Loads jq. From then on, Ctrl-C ends the process, because a running jq program cannot be interrupted in another way. */
  loadJq(): Promise<Jq>;
  /** Returns all of standard input, to its end. */
  readInput(): Promise<string>;
  /** Opens a page for the user. Failures are ignored. */
  openBrowser(url: string): void;
  randomBytes(size: number): Uint8Array;
  clock(): Date;
  /** Resolves after a time in milliseconds, or rejects when the signal aborts. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** How long a server may take for one response, in milliseconds. */
  patience: number;
  /** Aborts on Ctrl-C. */
  signal: AbortSignal;
  operator: Operator;
  diagnosis: Diagnosis;
  agentControl: AgentControl;
  host: Environment;
}
