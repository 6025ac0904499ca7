import { startTemporaryPostgres } from '@belay/embedded-postgres';

export interface TestServer extends AsyncDisposable {
  url(database: string): string;
  stop(): Promise<void>;
}

/** Returns a PostgreSQL server of its own that is thrown away: what the demo makes, roles, belongs to a whole server. */
export async function startTestServer(): Promise<TestServer> {
  const server = await startTemporaryPostgres({ name: 'belay' });
  return { url: server.url, stop: () => server.stop(), [Symbol.asyncDispose]: () => server.stop() };
}
