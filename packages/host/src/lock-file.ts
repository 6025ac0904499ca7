import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { inspectProcess } from './inspect-process.js';

/** The content of a lock file: the process that holds the lock. */
interface Holder {
  pid: number;
  /** When the process started: a later one with the same number is another process. */
  birth: string;
  /** Unique to each hold. */
  token: string;
}

export interface LockOptions {
  path: string;
  /** Unique to this hold, so that it can be told from a later one of the same process. */
  token: string;
}

/** A lock that this process holds, or the process that holds it. */
export type Lock = { held: true; release(): Promise<void> } | { held: false; pid: number };

/** The largest lock file that is read, in bytes: those of Belay are smaller. */
const largest = 4_096;

/**
 * Takes a lock for this process alone, or returns the process id of the holder. A lock file names its holder by process
 * id and start time, so a lock ends with its holder, even when another process gets the process id. The file appears
 * with its whole content: it is linked or renamed to its name. The lock of a dead holder is replaced by the one process
 * that holds the lock for its succession.
 *
 * Throws an error with the code `ENOTALOCK` for a file that no process of this user can have left there (a link,
 * another user's file), and the error of the system when the folder cannot be used.
 */
export async function tryLock({ path, token }: LockOptions): Promise<Lock> {
  const { birth } = await inspectProcess(process.pid);
  const ours = JSON.stringify({ pid: process.pid, birth, token } satisfies Holder);
  const draft = `${path}.unfinished-${token}`;
  try {
    const other = await take(path, ours, draft);
    if (other !== undefined) return { held: false, pid: other.pid };
  } finally {
    await rm(draft, { force: true });
  }
  await removeLeftovers(path);
  return {
    held: true,
    release: async () => {
      if ((await readLock(path)) === ours) await rm(path, { force: true });
    },
  };
}

export interface HoldLockOptions extends LockOptions {
  delay(milliseconds: number): Promise<void>;
  /** How long to wait for another holder, in milliseconds. */
  patience: number;
}

const pause = 25;

/**
 * Waits for a lock. Resolves with the function that releases it, or with undefined when another hold lasts for longer
 * than `patience`.
 */
export async function holdLock(options: HoldLockOptions): Promise<(() => Promise<void>) | undefined> {
  for (let waited = 0; ; waited += pause) {
    const lock = await tryLock(options);
    if (lock.held) return lock.release;
    if (waited >= options.patience) return undefined;
    await options.delay(pause);
  }
}

/** Returns the process id of a lock's holder; undefined when no living process holds it. */
export async function findLockHolder(path: string): Promise<number | undefined> {
  return (await findHolder(await readLock(path)))?.pid;
}

/** Takes a lock. Returns undefined, or the living process that holds the lock or is replacing a dead one. */
async function take(path: string, ours: string, draft: string): Promise<Holder | undefined> {
  for (;;) {
    if (await linkDraft(draft, ours, path)) return undefined;
    const found = await readLock(path);
    if (found === undefined) continue;
    const holder = await findHolder(found);
    if (holder !== undefined) return holder;
    // The name of the succession lock is made of the dead lock's content, which is never written again. While this process holds
    // it, no other process replaces the dead lock. If the holder of the succession lock dies too, it is replaced in the same way.
    const succession = `${path}.after-${createHash('sha256').update(found).digest('hex').slice(0, 16)}`;
    const heir = await take(succession, ours, draft);
    if (heir !== undefined) return heir;
    try {
      if ((await readLock(path)) !== found) continue;
      const next = `${draft}-next`;
      await writeFile(next, ours, { flag: 'wx', mode: 0o600 });
      await rename(next, path);
      return undefined;
    } finally {
      await rm(succession, { force: true });
    }
  }
}

/** Returns whether this process holds the lock now. A link is created whole or not at all, so no process reads half a lock. */
async function linkDraft(draft: string, ours: string, path: string): Promise<boolean> {
  for (;;) {
    try {
      await writeFile(draft, ours, { flag: 'wx', mode: 0o600 }).catch(ignore('EEXIST'));
      await link(draft, path);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      // A holder removed the draft as a leftover while it was still empty.
      if (code !== 'ENOENT' || (await isMissing(dirname(path)))) throw error;
    }
  }
}

async function isMissing(folder: string): Promise<boolean> {
  return readdir(folder).then(
    () => false,
    () => true,
  );
}

/** Returns the text of a lock file; undefined when it does not exist. */
async function readLock(path: string): Promise<string | undefined> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    // The error codes for opening a link with O_NOFOLLOW, and for opening a socket.
    throw error.code === 'ELOOP' || error.code === 'ENXIO' ? notALock(path, error) : error;
  });
  if (handle === undefined) return undefined;
  try {
    const state = await handle.stat();
    const self = process.getuid?.() ?? 0;
    if (!state.isFile() || state.size > largest || (self !== 0 && state.uid !== self)) throw notALock(path);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

function notALock(path: string, cause?: unknown): Error {
  return Object.assign(new Error(`${path} is not a lock file of this user: review it, then remove it`, { cause }), {
    code: 'ENOTALOCK',
  });
}

/** Returns the living process that a lock names; undefined when it names no such process. */
async function findHolder(text: string | undefined): Promise<Holder | undefined> {
  try {
    const { pid, birth, token } = JSON.parse(text ?? '') as Partial<Holder>;
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
    const state = await inspectProcess(pid);
    return state.alive && state.birth === birth ? { pid, birth, token: token ?? '' } : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the files that processes left beside this lock when they were killed. Only for the holder of the lock. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.(unfinished|after)-[\w-]+$/.test(name)) continue;
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    if (text !== undefined && (await findHolder(text)) === undefined) await rm(join(folder, name), { force: true });
  }
}

function ignore(code: string): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
