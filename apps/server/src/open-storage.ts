import type { Logger } from '@belay/core';
import postgres from 'postgres';
import { startEmbeddedPostgres } from './embedded/index.js';
import { oneLine, StartError } from './start-error.js';

const systemDatabase = 'belay';
const oldestVersion = 150_000;
/** How long our own connections may take to be gone from the server's list after they were closed. */
const settleAttempts = 10;
const settlePause = 100;

export interface Storage {
  /** Of Belay's own database. */
  url: string;
  embedded: boolean;
  /** Stops the embedded server, unless another process uses it; does nothing to a server of somebody else's. */
  close(): Promise<void>;
}

export interface StorageOptions {
  databaseUrl: string | undefined;
  dataDirectory: string;
  log: Logger;
  randomBytes(size: number): Buffer;
  delay(milliseconds: number): Promise<void>;
}

/**
 * The database of this installation: the one of `DATABASE_URL`, or the embedded one, started or adopted (design §15).
 * Throws `StartError` with the cause and the cure on one line.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  if (options.databaseUrl !== undefined) {
    await checkDatabase(options.databaseUrl);
    return { url: options.databaseUrl, embedded: false, close: async () => {} };
  }
  const server = await startEmbeddedPostgres({
    dataDirectory: options.dataDirectory,
    log: (line) => options.log.debug({}, line),
    randomBytes: options.randomBytes,
    delay: options.delay,
  }).catch((cause: unknown) => {
    throw new StartError(oneLine(cause), { cause });
  });
  try {
    await server.ensureDatabase(systemDatabase);
  } catch (cause) {
    await server.stop();
    throw new StartError(`The embedded database could not be prepared: ${oneLine(cause)}`, { cause });
  }
  const url = server.url(systemDatabase);
  return {
    url,
    embedded: true,
    async close() {
      if (await isUsedByOthers(url, options.delay)) {
        options.log.info({}, 'The embedded database stays up: another process uses it');
      } else await server.stop();
    },
  };
}

/** Whether the database answers and is one that we can use. */
async function checkDatabase(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {}, fetch_types: false });
  let version: number;
  try {
    const [row] = await sql<[{ version: number }]>`select current_setting('server_version_num')::int as version`;
    version = row.version;
  } catch (cause) {
    throw new StartError(explainDatabase(url, cause), { cause });
  } finally {
    await sql.end({ timeout: 0 });
  }
  if (version < oldestVersion) {
    throw new StartError(
      `DATABASE_URL leads to PostgreSQL ${Math.floor(version / 10_000)}; Belay needs 15 or newer: upgrade it, or use another server`,
    );
  }
}

/** One line about a database that cannot be used; no password in it. */
export function explainDatabase(url: string, error: unknown): string {
  const { host, pathname, username } = new URL(url);
  const code = (error as { code?: string }).code ?? '';
  if (code === '28P01' || code === '28000') {
    return `DATABASE_URL: the server at ${host} refuses the user "${decodeURIComponent(username)}"; correct the user or the password`;
  }
  if (code === '3D000') {
    return `DATABASE_URL: there is no database "${decodeURIComponent(pathname.slice(1))}" at ${host}; create it, or correct the name`;
  }
  return `DATABASE_URL: the database at ${host} cannot be reached (${code || oneLine(error)}); start it, or correct the address`;
}

async function isUsedByOthers(url: string, delay: (milliseconds: number) => Promise<void>): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {}, fetch_types: false });
  try {
    for (let attempt = 0; attempt < settleAttempts; attempt++) {
      // Only Belay itself signs in as this user; the people of the demo and its connector do not keep the server up.
      const [row] = await sql<[{ others: boolean }]>`
        select exists (
          select from pg_stat_activity
          where usename = current_user and backend_type = 'client backend' and pid <> pg_backend_pid()
        ) as others`;
      if (!row.others) return false;
      await delay(settlePause);
    }
    return true;
  } catch {
    // It is gone or going already, so there is nothing to protect.
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
