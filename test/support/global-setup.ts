import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import postgres from 'postgres';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/index.js';
import { makeMemoryFolder } from './memory-folder.js';

/**
 * Turns off what a server needs only in the long run: autovacuum, processes that read ahead, and a log for replicas. Passwords are
 * checked with one round instead of thousands, because a test file opens dozens or hundreds of connections, and each check would cost
 * its process a millisecond or more.
 */
const settings = {
  max_connections: '300',
  autovacuum: 'off',
  io_method: 'sync',
  wal_level: 'minimal',
  max_wal_senders: '0',
  scram_iterations: '1',
  // A connection of `npm test` runs a statement a few times, and PostgreSQL would plan each of the first five runs. CI
  // keeps this default.
  ...(process.env.BELAY_TESTS === 'short' ? { plan_cache_mode: 'force_generic_plan' } : {}),
};

/**
 * Provides one real PostgreSQL for the whole run: the embedded one, in a temporary folder, or the server that
 * BELAY_TEST_DATABASE_URL names. Test files create databases in it, which are named after the run. Temporary folders are in memory
 * where that is possible. Returns a function that removes all of it.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const folder = makeMemoryFolder();
  const before = process.env.TMPDIR;
  if (folder) process.env.TMPDIR = folder;
  const removeFolder = async () => {
    if (!folder) return;
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(folder, { recursive: true, force: true });
  };
  process.env.BELAY_TEST_RUN = randomBytes(4).toString('hex');
  if (process.env.BELAY_TEST_DATABASE_URL) {
    return async () => {
      await dropDatabases();
      await removeFolder();
    };
  }
  const server = await startTemporaryPostgres({ name: 'belay', settings });
  process.env.BELAY_TEST_DATABASE_URL = server.url('postgres');
  await storePasswordAnew(process.env.BELAY_TEST_DATABASE_URL);
  return async () => {
    await server.stop();
    await removeFolder();
  };
}

/** Stores the superuser's password again, because the cluster was created before it had these settings, with the default rounds. */
async function storePasswordAnew(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe(`alter role current_user password '${new URL(url).password}'`);
  await sql.end();
}

/** Drops the databases that the processes of this run kept for their next tests, on a server that outlives the run. */
async function dropDatabases(): Promise<void> {
  const sql = postgres(process.env.BELAY_TEST_DATABASE_URL ?? '', { max: 1, onnotice: () => {} });
  const own = `belay_test_${process.env.BELAY_TEST_RUN}_%`;
  for (const { datname } of await sql`select datname from pg_database where datname like ${own}`) {
    await sql.unsafe(`drop database if exists ${datname} with (force)`);
  }
  await sql.end();
}
