import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerUser } from './ensure-account.js';

/**
 * Gives a cluster that root owns (copied or restored by root) to the server's account. The top folder comes last: as long as
 * it is root's, a later start does the rest again.
 */
export async function ownCluster(path: string, user: ServerUser): Promise<void> {
  const entry = await lstat(path);
  if (entry.isDirectory()) {
    for (const name of await readdir(path)) {
      await ownCluster(join(path, name), user);
    }
  }
  // Not through links: what they point to is not part of the cluster.
  await lchown(path, user.uid, user.gid);
}
