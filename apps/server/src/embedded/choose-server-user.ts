import { readFile, stat } from 'node:fs/promises';

/** The account that the server's programs run as. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** What Linux distributions give to `nobody`; used where /etc/passwd does not name it. */
const CONVENTIONAL_NOBODY: ServerUser = { uid: 65534, gid: 65534 };

/**
 * The account to run PostgreSQL as: undefined (our own) for an ordinary user; for root, whom PostgreSQL refuses to serve,
 * the owner of the cluster if there is one and it is not root, and `nobody` otherwise.
 */
export async function chooseServerUser(cluster: string | undefined): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const owner = cluster === undefined ? undefined : await stat(cluster);
  // A cluster that an ordinary user made stays theirs: their next start without root has to find it readable.
  if (owner !== undefined && owner.uid !== 0) {
    return { uid: owner.uid, gid: owner.gid };
  }
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const line of accounts.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name === 'nobody' && uid !== undefined && gid !== undefined) {
      // macOS writes -2; the system calls take it as an unsigned 32-bit number.
      return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
    }
  }
  return CONVENTIONAL_NOBODY;
}
