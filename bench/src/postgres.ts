import { readFileSync } from 'node:fs';
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
  // A benchmark that fails or is interrupted must not leave its server behind: it runs on without its parent.
  const kill = () =>
    process.kill(Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGINT');
  const exit = () => process.exit(1);
  process.once('exit', kill).once('SIGTERM', exit).once('SIGINT', exit);
  return {
    async database(name) {
      await server.ensureDatabase(name);
      return server.url(name);
    },
    async stop() {
      process.off('exit', kill).off('SIGTERM', exit).off('SIGINT', exit);
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
