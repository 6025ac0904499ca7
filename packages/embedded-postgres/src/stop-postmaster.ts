import { runProgram } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import type { Binaries } from './prepare-binaries.js';

/**
 * Stops a cluster's server, ending its connections, and waits until it is gone. One that does not run is what was wanted.
 *
 * @throws EmbeddedPostgresError `start_failed` with pg_ctl's reason when the server does not go.
 */
export async function stopPostmaster(binaries: Binaries, cluster: string, user: ServerUser | undefined): Promise<void> {
  const { code, output, failure } = await runProgram(
    binaries.pgControl,
    ['stop', '--wait', '--mode', 'fast', '--pgdata', cluster],
    user,
  );
  if (code !== 0 && !/PID file .* does not exist|No such process|cannot stop server; .* is not running/i.test(output)) {
    throw new EmbeddedPostgresError('start_failed', `PostgreSQL on ${cluster} did not stop: ${failure ?? output}`);
  }
}
