import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startTemporaryPostgres } from '@belay/embedded-postgres';

export interface TestServer extends AsyncDisposable {
  url(database: string): string;
  stop(): Promise<void>;
}

/** A PostgreSQL server of its own that is thrown away: what the demo makes, roles, belongs to a whole server. */
export async function startTestServer(): Promise<TestServer> {
  const server = await startTemporaryPostgres({ log: () => {}, randomBytes, delay: (ms) => delay(ms) });
  return { url: server.url, stop: () => server.stop(), [Symbol.asyncDispose]: () => server.stop() };
}
