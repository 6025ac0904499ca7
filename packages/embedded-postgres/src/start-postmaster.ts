import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@belay/host';
import type { ServerUser } from './ensure-account.js';
import { stopPostmaster } from './postmaster.js';
import type { Binaries } from './prepare-binaries.js';

type StartResult =
  | { state: 'started' }
  /** Something else listens on the port. */
  | { state: 'port_taken' }
  /** Parts of a killed server have not ended yet, or another server has just started. */
  | { state: 'busy'; reason: string }
  | { state: 'failed'; reason: string };

/** The server's log, in the cluster's folder, where its account can write. */
export const LOG_FILE = 'server.log';

const LOG_LIMIT = 10 * 1024 * 1024;
/** Seconds. A crash recovery of a large write-ahead log can take long, and a server that is stopped meanwhile begins it again. */
const START_LIMIT = 3_600;

/**
 * Starts the server of a prepared cluster and waits until it accepts connections, for at most `limit` seconds. Its log is in the
 * cluster's folder.
 */
export async function startPostmaster(
  binaries: Binaries,
  cluster: string,
  user: ServerUser | undefined,
  limit = START_LIMIT,
): Promise<StartResult> {
  const log = join(cluster, LOG_FILE);
  const before = (await stat(log).catch(() => undefined))?.size ?? 0;
  if (before > LOG_LIMIT) {
    await rename(log, `${log}.1`);
  }
  const { code, output, failure } = await runProgram(
    binaries.pgControl,
    ['start', '--wait', '--timeout', String(limit), '--pgdata', cluster, '--log', log],
    user,
  );
  if (code === 0) {
    return { state: 'started' };
  }
  if (/server did not start in time/.test(output)) {
    // pg_ctl leaves the server that it started running.
    await stopPostmaster(binaries, cluster, user);
    return { state: 'failed', reason: `it did not accept connections within ${limit} seconds` };
  }
  const said = await readFrom(log, before > LOG_LIMIT ? 0 : before);
  if (/could not bind|could not create any TCP\/IP sockets/.test(said)) {
    return { state: 'port_taken' };
  }
  const reason =
    failure ?? said.match(/(?:FATAL|PANIC): {2}(.*)/)?.[1] ?? lastLine(said) ?? lastLine(output) ?? 'no reason given';
  if (/pre-existing shared memory block|lock file "postmaster.pid"|the database system is/.test(said)) {
    return { state: 'busy', reason };
  }
  return { state: 'failed', reason };
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1) || undefined;
}

/** Returns the text of a file from an offset on, at most 64 KiB. */
async function readFrom(path: string, offset: number): Promise<string> {
  const handle = await open(path).catch(() => undefined);
  if (handle === undefined) {
    return '';
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, offset);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}
