import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface WriteOptions {
  /** Unique to this write, so that two writers never share a temporary file. */
  token: string;
  /** The account that owns the file, when it is not the account of this process. */
  owner?: { uid: number; gid: number } | undefined;
}

/** Returns the content of a file; undefined when there is none. */
export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Replaces a file with a whole new one, mode 0600. When it resolves, the new file is on the disk and survives a crash of the machine.
 * When it rejects, the old file remains, unless only the sync of the folder failed. A reader sees one of the two, never a part.
 */
export async function replaceFile(path: string, content: string | Uint8Array, options: WriteOptions): Promise<void> {
  await writeBeside(path, content, options, (temporary) => rename(temporary, path));
}

/** Creates a file as `replaceFile` does, unless it exists. Returns whether it was created: of several calls, one creates it. */
export async function createFile(path: string, content: string | Uint8Array, options: WriteOptions): Promise<boolean> {
  let made = true;
  await writeBeside(path, content, options, async (temporary) => {
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      made = false;
    });
    await rm(temporary, { force: true });
  });
  return made;
}

async function writeBeside(
  path: string,
  content: string | Uint8Array,
  { token, owner }: WriteOptions,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.unfinished-${token}`;
  // Opened exclusively, so that nothing is written through a link or into a file that another account created.
  const file = await open(temporary, 'wx', 0o600);
  try {
    try {
      await file.writeFile(content);
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
      await file.sync();
    } finally {
      await file.close();
    }
    await place(temporary);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Writes the entries of a folder to the disk. Windows cannot open folders and does not need this. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Removes the unfinished files of killed processes. Only for a process that uses the folder alone: another could be writing. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (/\.unfinished-[\w-]+$/.test(name)) await rm(join(folder, name), { force: true });
  }
}
