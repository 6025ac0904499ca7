import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startTemporaryPostgres } from '../../apps/server/src/embedded/index.js';

/**
 * One real PostgreSQL for the whole run: the embedded one, in a folder that goes away, or the server that
 * BELAY_TEST_DATABASE_URL names. Test files make their own databases in it.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BELAY_TEST_DATABASE_URL) return undefined;
  const server = await startTemporaryPostgres({
    log: () => {},
    randomBytes,
    delay: (milliseconds) => delay(milliseconds),
    settings: { max_connections: '300' },
  });
  process.env.BELAY_TEST_DATABASE_URL = server.url('postgres');
  return () => server.stop();
}
