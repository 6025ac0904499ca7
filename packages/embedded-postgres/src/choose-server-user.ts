import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServerUser } from './ensure-account.js';
import { type AccountOptions, ensureAccount, findNobody } from './ensure-account.js';

/**
 * Returns the account to run PostgreSQL as: undefined (our own) for an ordinary user; for root, whom PostgreSQL rejects
 * to serve, the owner of the cluster if it is an ordinary user, and an account that exists for this alone otherwise.
 */
export async function chooseServerUser(
  cluster: string | undefined,
  options: AccountOptions,
): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const owner = cluster === undefined ? undefined : await stat(cluster);
  if (cluster === undefined || owner === undefined || owner.uid === 0) {
    return ensureAccount(options);
  }
  // Older versions ran as `nobody`, in a folder of root's: such a cluster moves at the first start that finds it
  // stopped.
  const byRoot = (await stat(dirname(cluster))).uid === 0;
  if (byRoot && owner.uid === (await findNobody()).uid && !(await isRunning(cluster))) {
    return ensureAccount(options);
  }
  // A cluster that an ordinary user made stays theirs: their next start without root has to find it readable.
  return { uid: owner.uid, gid: owner.gid };
}

/** Returns whether the process in the cluster's pid file runs. In doubt it does: a running server is never removed. */
async function isRunning(cluster: string): Promise<boolean> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  try {
    process.kill(Number.parseInt(text, 10), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
