import type { Logger } from '@belay/core';
import { type ConnectionInspection, inspectConnection, takeTurn, tryTurn } from '@belay/db';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '@belay/embedded-postgres';
import { oneLine, StartError } from '@belay/program';
import { explainOutage, whileReachable } from './while-reachable.js';

const systemDatabase = 'belay';
const oldestVersion = 150_000;
/** How often the embedded server is started, because another process may be stopping it at the same time. */
const attempts = 3;
const pause = 500;

export interface Storage {
  /** The URL of Belay's own database. */
  url: string;
  embedded: boolean;
  /** Stops the embedded server, unless another process uses it; leaves an external server running. */
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
 * Returns the database of this installation: that of `DATABASE_URL`, or the embedded one, which is started unless it
 * already runs (docs/architecture.md, section 11). Throws `StartError` with the cause and the cure on one line.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  if (options.databaseUrl !== undefined) {
    const url = options.databaseUrl;
    await whileReachable({ url, delay: options.delay }, () => checkDatabase(url));
    return { url, embedded: false, close: async () => {} };
  }
  for (let attempt = 1; ; attempt++) {
    const server = await startEmbeddedPostgres({
      dataDirectory: options.dataDirectory,
      name: 'belay',
      log: (line) => options.log.debug({}, line),
      randomBytes: options.randomBytes,
      delay: options.delay,
    }).catch((cause: unknown) => {
      throw new StartError(explainEmbedded(cause), { cause });
    });
    try {
      await server.ensureDatabase(systemDatabase);
      const url = server.url(systemDatabase);
      const presence = await markPresence(url);
      return {
        url,
        embedded: true,
        async close() {
          if (await presence.leave()) await server.stop();
          else options.log.debug({}, 'the embedded database stays up: another process uses it');
        },
      };
    } catch (cause) {
      if (attempt < attempts) {
        await options.delay(pause);
        continue;
      }
      if (!server.adopted) await server.stop();
      throw new StartError(
        `The embedded database cannot be used: ${oneLine(cause)}; stop other processes that use it`,
        {
          cause,
        },
      );
    }
  }
}

/** Returns one line about an error of the embedded database, with the variable to set. */
export function explainEmbedded(error: unknown): string {
  const line = oneLine(error);
  if (!(error instanceof EmbeddedPostgresError)) return line;
  if (error.code === 'not_writable') return `${line} Set BELAY_DATA to use another data folder.`;
  return `${line} Set DATABASE_URL to use a PostgreSQL of your own, 15 or newer.`;
}

/** Checks that the database can be reached and used. Throws `StartError` when it cannot. */
export async function checkDatabase(url: string): Promise<ConnectionInspection> {
  const found = await inspectConnection(url).catch((cause: unknown) => {
    throw new StartError(explainDatabase(url, cause), { cause });
  });
  const { version, shared } = found;
  if (version < oldestVersion) {
    throw new StartError(
      `DATABASE_URL points to PostgreSQL ${Math.floor(version / 10_000)}; Belay needs 15 or newer: upgrade it, or use another server`,
    );
  }
  if (shared) {
    throw new StartError(
      `DATABASE_URL: the connection pooler at ${new URL(url).host} gives a session to several connections; set pool_mode = session (docs/guides/scale.md)`,
    );
  }
  return found;
}

/** Returns one line about a database that cannot be used, without the password. */
function explainDatabase(url: string, error: unknown): string {
  const { host, pathname, username } = new URL(url);
  const code = (error as { code?: string }).code ?? '';
  if (code === '28P01' || code === '28000') {
    return `DATABASE_URL: the server at ${host} rejects the user "${decodeURIComponent(username)}"; correct the user or the password`;
  }
  if (code === '3D000') {
    return `DATABASE_URL: there is no database "${decodeURIComponent(pathname.slice(1))}" at ${host}; create it, or correct the name`;
  }
  return explainOutage(url, error);
}

/**
 * Shows other processes on the same embedded server that this process uses it, until `leave` or the end of the process.
 * `leave` returns whether this was the last process, which may stop the server.
 */
async function markPresence(url: string): Promise<{ leave(): Promise<boolean> }> {
  const presence = await takeTurn(url, 'presence', { shared: true });
  return {
    async leave() {
      try {
        await presence.release();
        // The turn is not released: a process that starts now must wait until the server has stopped, and not use it.
        return (await tryTurn(url, 'presence')) !== undefined;
      } catch {
        // The server has stopped or is stopping, so no other process uses it.
        return true;
      }
    },
  };
}
