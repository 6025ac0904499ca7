import { findListeners } from '@belay/host';

/**
 * Returns whether what listens on this machine at the port of `url` is this user's, or root's. A program that has the
 * port of an agent that does not run could lead people to sign in for them. True beyond this machine, and where the
 * system does not tell.
 */
export async function isOwnListener(url: string): Promise<boolean> {
  const ours = process.getuid?.();
  const owners = ours === undefined ? undefined : await findListeners(url);
  return owners === undefined || (owners.length > 0 && owners.every((uid) => uid === ours || uid === 0));
}
