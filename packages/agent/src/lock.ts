import { join } from 'node:path';
import { findLockHolder, tryLock } from '@belay/host';
import { StartError } from '@belay/program';

/** Holds a data folder for this process alone; returns the release. Throws `StartError` with the process id of a living holder. */
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
