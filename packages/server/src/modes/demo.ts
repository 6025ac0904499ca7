import type { IncomingMessage } from 'node:http';
import type { Environment } from '@belay/operations';
import type { Logger } from '@belay/program';

export interface DemoOptions {
  dataDirectory: string;
  databaseUrl: string;
  /** The address that people open; undefined in a process without HTTP. */
  baseUrl: string | undefined;
  log: Logger;
  randomBytes(size: number): Uint8Array;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Demo {
  /** The values of the references in the quickstart catalog. */
  variables: Record<string, string>;
  people: { name: string; email: string; groups: readonly string[] }[];
  /** Writes the settings that `npm run demo` reads. Called once this process serves HTTP. */
  publish(): Promise<void>;
  close(): Promise<void>;
}

export interface StoppableWorker {
  stop(): Promise<unknown>;
}

/**
 * The demo that a server runs when it finds no configuration. It is in packages/demo and not part of the server; without
 * it such a start is rejected.
 */
export interface DemoComposer {
  /** Throws `StartError` for an environment that other machines could reach. */
  check(environment: Environment): void;
  start(options: DemoOptions): Promise<Demo>;
  /** Returns whether a request was made on this machine, to this machine. */
  admits(request: IncomingMessage): boolean;
  /** Runs a worker that the demo can stop. */
  startWorker(options: {
    databaseUrl: string;
    log: Logger;
    delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
    start(): Promise<StoppableWorker>;
  }): Promise<StoppableWorker>;
}
