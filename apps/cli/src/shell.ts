import type { Sink } from './output/output.js';

export interface Choice {
  value: string;
  label: string;
  hint?: string;
}

/** Questions to whoever sits at the terminal. Each throws `aborted` when they leave instead of answering. */
export interface Prompts {
  confirm(message: string): Promise<boolean>;
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

export interface Validation {
  ok: boolean;
  /** The file or folder that was read. */
  source: string;
  /** One for each fault: file, key or line, and reason. */
  messages: readonly string[];
}

/** What only the server's own program can do; it is not loaded until a command needs it. */
export interface Operator {
  /** Resolves when the server has stopped. */
  start(): Promise<void>;
  validate(path: string | undefined): Promise<Validation>;
  enrollAgent(request: AgentRequest): Promise<{ credential: string; expires_at: string; agent: { name: string } }>;
  revokeAccess(request: { of: string; reason: string }): Promise<{ message: string; executions: string[] }>;
  createToken(request: TokenRequest): Promise<{ token: string; expires_at: string; user: { email: string } }>;
}

/** Everything around the commands. main.ts makes the real one; nothing else touches the process. */
export interface Shell {
  /** Of this program. */
  version: string;
  stdout: Sink;
  stderr: Sink;
  /** Somebody is there to answer questions. */
  interactive: boolean;
  colour: boolean;
  /** Lines may move: standard error is a terminal that can draw. */
  animated: boolean;
  /** `BELAY_URL` and `BELAY_TOKEN`. */
  server: string | undefined;
  token: string | undefined;
  /** Where an agent would be on this machine; undefined when nobody is to look. */
  agent: string | undefined;
  credentialsFile: string;
  /** Files have owners and modes here. */
  posix: boolean;
  prompts: Prompts;
  /** Shows a page to the user if it can; it is no failure when it cannot. */
  openBrowser(url: string): void;
  randomBytes(size: number): Uint8Array;
  clock(): Date;
  /** Resolves after a time in milliseconds, or rejects when the signal aborts. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Aborts on Ctrl-C. */
  signal: AbortSignal;
  operator: Operator;
}
