import { rm } from 'node:fs/promises';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/index.js';
import { makeMemoryFolder } from './memory-folder.js';

/**
 * One real PostgreSQL for the whole run: the embedded one, in a folder that goes away, or the server that
 * BELAY_TEST_DATABASE_URL names. Test files make their own databases in it. Temporary folders are in memory where they can be.
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
  if (process.env.BELAY_TEST_DATABASE_URL) return removeFolder;
  const server = await startTemporaryPostgres({ name: 'belay', settings: { max_connections: '300' } });
  process.env.BELAY_TEST_DATABASE_URL = server.url('postgres');
  return async () => {
    await server.stop();
    await removeFolder();
  };
}
