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
  /** Tells `npm run demo` where to go. For a process that serves HTTP, once it does. */
  publish(): Promise<void>;
  close(): Promise<void>;
}

export interface StoppableWorker {
  stop(): Promise<unknown>;
}

/**
 * What a server runs when it finds no configuration. The server itself contains no demo: packages/demo has one, and
 * without it such a start is rejected.
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
