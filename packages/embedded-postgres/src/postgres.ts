import { randomBytes as cryptoRandomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { EmbeddedPostgres, StartEmbeddedPostgresOptions } from './bring-up.js';
import { bringUp } from './bring-up.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { nameAll } from './names.js';
import { notWritable } from './prepare-data-folder.js';

/** The functions that are used unless the caller passes others. */
export const defaults = {
  log: (): void => undefined,
  randomBytes: (size: number): Uint8Array => cryptoRandomBytes(size),
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

/** Returns the names and the settings from the options, or their defaults. */
export function settle({ name = 'embedded', settings = {} }: Pick<StartEmbeddedPostgresOptions, 'name' | 'settings'>) {
  return { names: nameAll(name), settings };
}

/** Converts a system error to an error with one line for the operator. Returns our own errors unchanged. */
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
