import { startTemporaryPostgres } from '@belay/embedded-postgres';

export interface TestServer extends AsyncDisposable {
  url(database: string): string;
  stop(): Promise<void>;
}

/** Starts a temporary PostgreSQL server. The demo needs its own server, because roles belong to the whole server. */
export async function startTestServer(): Promise<TestServer> {
  const server = await startTemporaryPostgres({ name: 'belay' });
  return { url: server.url, stop: () => server.stop(), [Symbol.asyncDispose]: () => server.stop() };
}
