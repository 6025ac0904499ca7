import { readFile, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inspectProcess, runProgram } from '@belay/host';
import postgres from 'postgres';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import type { Binaries } from './prepare-binaries.js';

/** What was found: a server that answers as ours, one that is on its way up or down, or none. */
type Adoption = { state: 'ours'; port: number } | { state: 'changing' } | { state: 'silent' } | { state: 'none' };

interface Login {
  /** The real path of the cluster. */
  cluster: string;
  superuser: string;
  password: string;
}

/**
 * Looks for a live postmaster of this cluster (one that outlived the process that started it). Taken over only when it
 * answers with our password and says that it serves this very folder.
 *
 * @throws EmbeddedPostgresError `start_failed` when a live server of this folder rejects our password or serves
 * another.
 */
export async function adoptPostmaster(
  { cluster, superuser, password }: Login,
  log: (line: string) => void,
): Promise<Adoption> {
  const file = join(cluster, 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) {
    return { state: 'none' };
  }
  const [pidLine, folder, , portLine] = content.split('\n');
  const pid = Number(pidLine);
  if (!Number.isSafeInteger(pid) || pid <= 0) {
    // Being written at this moment, or cut short by a full disk: PostgreSQL says which when it is started.
    return { state: 'none' };
  }
  const { alive, uncollected, command } = await inspectProcess(pid);
  if (uncollected || (alive && !isPostmaster(command, folder))) {
    // PostgreSQL takes a dead process that was not reaped, or another one that now has its number, for a live server.
    // Its other guard stays: while children of the old server run, the shared memory of the folder is in use.
    log(`removing the postmaster.pid of a server that no longer runs (process ${pid})`);
    await rm(file, { force: true });
    return { state: 'none' };
  }
  if (!alive) {
    return { state: 'none' };
  }
  const port = Number(portLine);
  if (!Number.isSafeInteger(port) || port <= 0) {
    return { state: 'changing' };
  }
  return ask({ cluster, superuser, password }, port);
}

/** Whether a command line can be a postmaster's of this folder; where the system does not say, it can. */
function isPostmaster(command: string[] | undefined, folder: string | undefined): boolean {
  return (
    command === undefined ||
    (basename(command[0] ?? '').startsWith('postgres') && folder !== undefined && command.includes(folder))
  );
}

async function ask({ cluster, superuser, password }: Login, port: number): Promise<Adoption> {
  const sql = postgres({
    host: '127.0.0.1',
    port,
    user: superuser,
    pass: password,
    database: 'postgres',
    max: 1,
    connect_timeout: 2,
    fetch_types: false,
    onnotice: () => undefined,
  });
  try {
    const rows = await sql<Array<{ folder: string }>>`select current_setting('data_directory') as folder`;
    const served = rows[0]?.folder ?? '';
    if ((await realpath(served).catch(() => served)) !== cluster) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `The PostgreSQL on port ${port} serves ${served}, not ${cluster}: stop it, then start again.`,
      );
    }
    return { state: 'ours', port };
  } catch (error) {
    return judge(error, cluster, port);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function judge(error: unknown, cluster: string, port: number): Adoption {
  if (error instanceof EmbeddedPostgresError) {
    throw error;
  }
  const { code } = error as { code?: string };
  // cannot_connect_now, admin_shutdown, crash_shutdown: starting up, recovering or shutting down.
  if (code === '57P03' || code === '57P01' || code === '57P02') {
    return { state: 'changing' };
  }
  if (code === '28P01' || code === '28000') {
    throw new EmbeddedPostgresError(
      'start_failed',
      `A PostgreSQL runs on ${cluster} (port ${port}) and rejects the password in postgres.password: restore that file, or stop the server.`,
    );
  }
  return { state: 'silent' };
}

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
