import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectProcess } from '@belay/host';
import { StartError } from '@belay/program';

interface Holder {
  pid: number;
  birth: string;
}

/**
 * Holds a data folder for this process alone; answers how to let go. The lock names its holder, and that of a process which
 * is gone is broken. Throws `StartError` with the pid of one that lives.
 */
export async function holdFolder(folder: string, randomName: () => string): Promise<() => Promise<void>> {
  const lock = join(folder, 'lock');
  const { birth } = await inspectProcess(process.pid);
  const ours = JSON.stringify({ pid: process.pid, birth } satisfies Holder);
  const draft = join(folder, `lock.unfinished-${randomName()}`);
  await writeFile(draft, ours, { mode: 0o600 });
  try {
    for (;;) {
      if (await create(draft, lock)) return () => release(lock, ours);
      const found = await read(lock);
      if (found === undefined) continue;
      const holder = parse(found);
      if (holder && (await lives(holder))) {
        throw new StartError(
          `${folder} is in use by another agent (pid ${holder.pid}); stop it, or set BELAY_DATA to another folder`,
        );
      }
      await breakLock(lock, found, `${draft}-broken`);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** The pid of the agent that holds a folder now; undefined when none does. */
export async function findHolder(folder: string): Promise<number | undefined> {
  const holder = parse((await read(join(folder, 'lock'))) ?? '');
  return holder && (await lives(holder)) ? holder.pid : undefined;
}

async function lives({ pid, birth }: Holder): Promise<boolean> {
  const state = await inspectProcess(pid);
  return state.alive && state.birth === birth;
}

/** A link is made whole or not at all: nobody ever reads half a lock. */
async function create(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a dead holder's lock away; what turns out to be somebody's fresh one is put back. */
async function breakLock(lock: string, dead: string, aside: string): Promise<void> {
  try {
    await rename(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if ((await read(aside)) !== dead) await create(aside, lock);
  await rm(aside, { force: true });
}

async function release(lock: string, ours: string): Promise<void> {
  if ((await read(lock)) === ours) await rm(lock, { force: true });
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): Holder | undefined {
  try {
    const { pid, birth } = JSON.parse(text) as Partial<Holder>;
    return typeof pid === 'number' && typeof birth === 'string' ? { pid, birth } : undefined;
  } catch {
    return undefined;
  }
}
