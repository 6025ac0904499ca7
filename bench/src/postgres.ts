import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@belay/embedded-postgres';

export interface Postgres {
  /** Makes a database when it is missing and returns its URL. */
  database(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a durable PostgreSQL of the benchmark's own. */
export async function openPostgres(settings: Record<string, string> = {}): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-bench-'));
  const server = await startEmbeddedPostgres({ dataDirectory: folder, settings });
  return {
    async database(name) {
      await server.ensureDatabase(name);
      return server.url(name);
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
