import { resolve } from 'node:path';
import { bringUp } from './bring-up.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { notWritable } from './prepare-data-folder.js';

/** A running server of our own. */
export interface EmbeddedPostgres {
  /** Connection URL (superuser `belay`, TCP on 127.0.0.1) for a database of this server. */
  url(database: string): string;
  /** True when the live server of an earlier process was taken over. */
  adopted: boolean;
  /** Creates a database when it is missing. */
  ensureDatabase(name: string): Promise<void>;
  /** Ends every connection and stops the server, for every process that uses it. Safe to call twice. */
  stop(): Promise<void>;
}

export interface StartEmbeddedPostgresOptions {
  /** BELAY_DATA. The cluster goes to `<dataDirectory>/postgres`. */
  dataDirectory: string;
  /** The port to listen on; without it a free one is chosen at the first start and remembered. */
  port?: number;
  /** PostgreSQL settings over the defaults; those that keep data durable and connections local cannot be changed. */
  settings?: Record<string, string>;
  /** Folder of a platform package, for an installation that keeps it elsewhere; default: the installed dependency. */
  packageFolder?: string;
  log(line: string): void;
  randomBytes(size: number): Buffer;
  /** Resolves after so many milliseconds. */
  delay(ms: number): Promise<void>;
}

/**
 * Starts PostgreSQL 18 on a data folder, or takes over the live server of an earlier process, and returns when it accepts
 * connections (design §15, "Embedded default"). Two processes that start on the same folder share one server.
 *
 * @throws EmbeddedPostgresError with one line that names the cause and the cure; nothing is left running.
 */
export async function startEmbeddedPostgres(options: StartEmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDirectory = resolve(options.dataDirectory);
  try {
    return await bringUp({ ...options, settings: options.settings ?? {}, dataDirectory, durable: true });
  } catch (error) {
    throw explain(error, dataDirectory);
  }
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
    `The embedded PostgreSQL in ${dataDirectory} did not start: ${reason}. Set DATABASE_URL to use a server of your own.`,
    { cause: error },
  );
}
