import type { Connection } from '../connect.js';
import type { Environment } from '../host.js';
import type { Diagnosis, LocalServer, Shell } from '../shell.js';

/** `skipped` says why there was nothing to look at; a warning is worth knowing and fails nothing. */
export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Outcome {
  status: Status;
  message: string;
  /** What to do about it; every failure has one. */
  cure?: string;
}

/** What the server or agent said when it was asked, once for all checks. */
export type ServerAnswer =
  | {
      connection: Connection;
      answer: { version: string; ready: boolean; skew: number; health: Record<string, string>; status: string };
    }
  | {
      /** Undefined when it could not even be said which server is meant. */
      connection: Connection | undefined;
      answer: undefined;
      /** Why no answer came. */
      fault: string;
    };

/** What the checks look at. Everything that takes long is read once, when the first check needs it. */
export interface Setup {
  shell: Shell;
  host: Environment;
  diagnosis: Diagnosis;
  /** The server that would start here, as the variables say; undefined when nothing here says that one would. */
  local(): Promise<LocalServer | undefined>;
  server(): Promise<ServerAnswer>;
}

export interface Check {
  name: string;
  /** One outcome, or one for each thing that was looked at. Must not throw for what can be wrong with a setup. */
  run(setup: Setup): Promise<Outcome | Outcome[]>;
}

export const ok = (message: string): Outcome => ({ status: 'ok', message });
export const skipped = (message: string): Outcome => ({ status: 'skipped', message });
export const warning = (message: string, cure: string): Outcome => ({ status: 'warning', message, cure });
export const failed = (message: string, cure: string): Outcome => ({ status: 'failed', message, cure });

export const noServerHere = skipped('no server is set up on this machine');
