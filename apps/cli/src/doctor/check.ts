import type { Connection } from '../connect.js';
import type { Environment } from '../host.js';
import type { Diagnosis, LocalServer, Shell } from '../shell.js';

/** `skipped` explains why there was nothing to check. A `warning` does not make `belay doctor` fail. */
export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Outcome {
  status: Status;
  message: string;
  /** How to fix it; every failure has a fix. */
  cure?: string;
}

/** The server's or agent's response, which all checks share. */
export type ServerAnswer =
  | {
      connection: Connection;
      answer: { version: string; ready: boolean; skew: number; health: Record<string, string>; status: string };
    }
  | {
      /** Undefined when the address of the server could not be determined. */
      connection: Connection | undefined;
      answer: undefined;
      /** Why there was no response. */
      fault: string;
    };

/** The inputs of the checks. Slow ones are read once, when the first check needs them. */
export interface Setup {
  shell: Shell;
  host: Environment;
  diagnosis: Diagnosis;
  /** The server that the variables would start on this machine; undefined when none is set up here. */
  local(): Promise<LocalServer | undefined>;
  server(): Promise<ServerAnswer>;
}

export interface Check {
  name: string;
  /** Returns one outcome, or one for each thing that was checked. Must not throw because of a fault in the setup. */
  run(setup: Setup): Promise<Outcome | Outcome[]>;
}

export const ok = (message: string): Outcome => ({ status: 'ok', message });
export const skipped = (message: string): Outcome => ({ status: 'skipped', message });
export const warning = (message: string, cure: string): Outcome => ({ status: 'warning', message, cure });
export const failed = (message: string, cure: string): Outcome => ({ status: 'failed', message, cure });

export const noServerHere = skipped('no server is set up on this machine');
