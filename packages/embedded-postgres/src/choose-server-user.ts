import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServerUser } from './ensure-account.js';
import { type AccountOptions, ensureAccount, findNobody } from './ensure-account.js';

/**
 * Returns the account to run PostgreSQL as. Undefined (our own account) for an ordinary user. For root, as which
 * PostgreSQL does not run, the owner of the cluster if that is an ordinary user, otherwise an account only for this.
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
  // Older versions ran as the user `nobody`, in a folder that root owns. Such a cluster changes its owner at the first start that
  // finds it stopped.
  const byRoot = (await stat(dirname(cluster))).uid === 0;
  if (byRoot && owner.uid === (await findNobody()).uid && !(await isRunning(cluster))) {
    return ensureAccount(options);
  }
  // A cluster of an ordinary user keeps its owner, so that their next start without root can read it.
  return { uid: owner.uid, gid: owner.gid };
}

/** Returns whether the process in the cluster's pid file runs; true in doubt, so that a running server keeps its account. */
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
