import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectProcess } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

interface HoldStartLockOptions {
  folder: string;
  /** Unique to this hold, so that a lock can be told from a later one of the same process. */
  token: string;
  delay(ms: number): Promise<void>;
}

const PAUSE = 25;
/** Two minutes: longer than the first start of the slowest machine, shorter than an operator's patience. */
const ATTEMPTS = 4800;
/** A lock that stays unreadable this long was left by a process that died between creating and writing it. */
const UNREADABLE_ATTEMPTS = 80;

/**
 * Waits until this process alone may start a server in the folder, and returns the release. The lock is a file that is
 * created exclusively and names its holder; one whose holder is dead is broken. It only orders starts: that there is never
 * a second postmaster is PostgreSQL's own guarantee (postmaster.pid and the shared memory key).
 *
 * @throws EmbeddedPostgresError `start_failed` when a live holder does not let go within two minutes.
 */
export async function holdStartLock(options: HoldStartLockOptions): Promise<() => Promise<void>> {
  const lock = join(options.folder, 'postgres.lock');
  const { birth } = await inspectProcess(process.pid);
  const ours = JSON.stringify({ pid: process.pid, birth, token: options.token });
  let unreadable = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await create(lock, ours)) {
      return async () => {
        if ((await read(lock)) === ours) {
          await rm(lock, { force: true });
        }
      };
    }
    const content = await read(lock);
    const held = await isHeld(content);
    unreadable = held === undefined && content !== undefined ? unreadable + 1 : 0;
    if (content !== undefined && (held === false || unreadable > UNREADABLE_ATTEMPTS)) {
      await breakLock(lock, content, ours);
    } else {
      await options.delay(PAUSE);
    }
  }
  throw new EmbeddedPostgresError(
    'start_failed',
    `Another process has been starting PostgreSQL in ${options.folder} for two minutes: end it, or remove ${lock}.`,
  );
}

/**
 * Removes a dead holder's lock. Only the one process that holds the marker may do so, and only after it has read the lock
 * again: otherwise two of them could each remove the other's fresh lock.
 */
async function breakLock(lock: string, content: string, ours: string): Promise<void> {
  const marker = `${lock}.break`;
  if (!(await create(marker, ours))) {
    const other = await read(marker);
    if (other !== undefined && (await isHeld(other)) !== true) {
      await rm(marker, { force: true });
    }
    return;
  }
  try {
    if ((await read(lock)) === content) {
      await rm(lock, { force: true });
    }
  } finally {
    await rm(marker, { force: true });
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return false;
    }
    throw error;
  }
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      return undefined;
    }
    throw error;
  });
}

/** Whether the holder that a lock names lives; undefined when the lock names none. */
async function isHeld(content: string | undefined): Promise<boolean | undefined> {
  try {
    const { pid, birth } = JSON.parse(content ?? '') as { pid: number; birth: string };
    const state = await inspectProcess(pid);
    return state.alive && state.birth === birth;
  } catch {
    return undefined;
  }
}
