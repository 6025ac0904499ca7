import { readFile, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inspectProcess, runProgram } from '@belay/host';
import postgres from 'postgres';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import type { Binaries } from './prepare-binaries.js';

/** What was found: our own server, one that is starting or stopping, one that does not respond, or no server. */
type Adoption = { state: 'ours'; port: number } | { state: 'changing' } | { state: 'silent' } | { state: 'none' };

interface Login {
  /** The real path of the cluster. */
  cluster: string;
  superuser: string;
  password: string;
}

/**
 * Looks for a live postmaster of this cluster, which outlived the process that started it. Adopts it only when it
 * accepts our password and serves this folder.
 *
 * @throws EmbeddedPostgresError `start_failed` when the live server rejects our password or serves another folder.
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
    // The file is being written, or was cut short by a full disk: PostgreSQL reports it at the start.
    return { state: 'none' };
  }
  const { alive, uncollected, command } = await inspectProcess(pid);
  if (uncollected || (alive && !isPostmaster(command, folder))) {
    // PostgreSQL mistakes a dead process that was not reaped, or another process with its number, for a live server.
    // Its other guard remains: while children of the old server run, the shared memory of the folder is in use.
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

/** Returns whether a command line can be that of this folder's postmaster; true when the system does not show it. */
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
 * Stops a cluster's server, which ends its connections, and waits until it has stopped. Succeeds when no server runs.
 *
 * @throws EmbeddedPostgresError `start_failed` with pg_ctl's reason when the server does not stop.
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
