import { randomBytes as cryptoRandomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bringUp } from './bring-up.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { nameAll } from './names.js';
import { notWritable } from './prepare-data-folder.js';

/** A running server of our own. */
export interface EmbeddedPostgres {
  /** Connection URL (as superuser, TCP on 127.0.0.1) for a database of this server. */
  url(database: string): string;
  /** True when the live server of an earlier process was taken over. */
  adopted: boolean;
  /** Creates a database when it is missing. */
  ensureDatabase(name: string): Promise<void>;
  /** Ends every connection and stops the server, for every process that uses it. Safe to call twice. */
  stop(): Promise<void>;
}

export interface StartEmbeddedPostgresOptions {
  /** The cluster goes to `<dataDirectory>/postgres`. */
  dataDirectory: string;
  /** The port to listen on; without it a free one is chosen at the first start and remembered. */
  port?: number;
  /** PostgreSQL settings over the defaults; those that keep data durable and connections local cannot be changed. */
  settings?: Record<string, string>;
  /** Folder of a platform package, for an installation that keeps it elsewhere; default: the installed dependency. */
  packageFolder?: string;
  /**
   * Names what is made: the superuser, `<name>.conf`, and, when root starts the server, the account `<name>-postgres` and the
   * folder `/var/lib/<name>`. One word in lower case, `embedded` by default; it stays the same for a data folder.
   */
  name?: string;
  /** Gets lines about what was found and made. */
  log?(line: string): void;
  randomBytes?(size: number): Buffer;
  /** Resolves after so many milliseconds. */
  delay?(ms: number): Promise<void>;
}

/** What is used of the machine unless the caller passes it. */
export const defaults = {
  log: (): void => undefined,
  randomBytes: (size: number): Buffer => cryptoRandomBytes(size),
  delay: async (ms: number): Promise<void> => void (await wait(ms)),
};

/**
 * Starts PostgreSQL 18 on a data folder, or takes over the live server of an earlier process, and returns when it accepts
 * connections. Two processes that start on the same folder share one server.
 *
 * @throws EmbeddedPostgresError with one line that names the cause and the cure; nothing is left running.
 */
export async function startEmbeddedPostgres(options: StartEmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDirectory = resolve(options.dataDirectory);
  try {
    return await bringUp({ ...defaults, ...options, ...settle(options), dataDirectory, durable: true });
  } catch (error) {
    throw explain(error, dataDirectory);
  }
}

/** What of the options has a default of its own. */
export function settle({ name = 'embedded', settings = {} }: Pick<StartEmbeddedPostgresOptions, 'name' | 'settings'>) {
  return { names: nameAll(name), settings };
}

/** Makes an operator's line of a system error; what we raised ourselves is one already. */
export function explain(error: unknown, dataDirectory: string): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) {
    return error;
  }
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOSPC' || code === 'ENOTDIR') {
    return notWritable(path ?? dataDirectory, error);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new EmbeddedPostgresError(
    'start_failed',
    `The embedded PostgreSQL in ${dataDirectory} did not start: ${reason}.`,
    { cause: error },
  );
}
