import { isOutage, type Logger } from '@belay/core';
import type { Environment } from '@belay/operations';
import { explainOutage } from '@belay/operations';
import { createClosing, StartError } from '@belay/program';
import type { DemoComposer } from './modes/demo.js';
import { composeServer } from './modes/server.js';

export interface StartOptions {
  environment: Environment;
  /** The values of `${env:NAME}` in a configuration. */
  variables: Record<string, string | undefined>;
  /** Where `belay.yaml` and `config/` are looked for. */
  directory: string;
  log: Logger;
  /** The demo, which runs without a configuration; when it is undefined, such a start fails. */
  openDemo?: (() => Promise<DemoComposer>) | undefined;
}

export interface RunningServer {
  /** The address that people open; undefined in a worker process. */
  baseUrl: string | undefined;
  program: { version: string; revision: string };
  /** The path of the configuration, `demo`, or `stored` for the one that other processes applied. */
  configuration: string;
  providers: { id: string; type: string }[];
  /** Who can sign in, in the demo. */
  people: { name: string; email: string; groups: readonly string[] }[] | undefined;
  /** The services in use, in words, without credentials. */
  database: string;
  queue: 'redis' | 'postgres';
  worker: Environment['worker'];
  /** Reloads the configuration now. */
  reload(): Promise<void>;
  /** Stops accepting, lets what is under way finish, and stops everything that was started. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts Belay in the mode of the environment. Throws `StartError` with one line that names the cause and the cure;
 * then nothing that it started runs any more.
 */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const closing = createClosing(options.log);
  try {
    return await composeServer(options, closing);
  } catch (error) {
    await closing.close();
    const { databaseUrl } = options.environment;
    if (error instanceof StartError || databaseUrl === undefined || !isOutage(error)) throw error;
    throw new StartError(explainOutage(databaseUrl, error), { cause: error });
  }
}
