import { join } from 'node:path';
import { findLockHolder, tryLock } from '@belay/host';
import { StartError } from '@belay/program';

/** Locks a data folder for this process; returns the function that unlocks it. Throws `StartError` with the process id of the holder. */
export async function holdFolder(folder: string, randomName: () => string): Promise<() => Promise<void>> {
  const lock = await tryLock({ path: join(folder, 'lock'), token: randomName() });
  if (lock.held) return lock.release;
  throw new StartError(
    `${folder} is in use by another agent (pid ${lock.pid}); stop it, or set BELAY_DATA to another folder`,
  );
}

/** Returns the process id of the agent that holds a folder now; undefined when none does. */
export async function findHolder(folder: string): Promise<number | undefined> {
  return findLockHolder(join(folder, 'lock'));
}

const cures: Record<string, string> = {
  EACCES: 'it does not belong to the user of this process; chown it to that user, or set BELAY_DATA to another folder',
  EPERM: 'it does not belong to the user of this process; chown it to that user, or set BELAY_DATA to another folder',
  EROFS: 'nothing can be written there; set BELAY_DATA to another folder',
  ENOTDIR: 'a part of the path is not a folder; set BELAY_DATA to another one',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'the quota of the disk is used up; free some space',
};

/** Returns a disk error of the folder as a `StartError` with a fix; other errors unchanged. */
export function explainDisk(error: unknown, folder: string): unknown {
  const { code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const cure = cures[code];
  return cure === undefined ? error : new StartError(`${folder} cannot be used (${code}): ${cure}`, { cause: error });
}
