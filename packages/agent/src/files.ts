import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { readIfPresent, replaceFile } from '@belay/host';
import { StartError } from '@belay/program';

/** What the stores of this folder do with the disk; passed in, so that a test can have a full one. */
export interface Files {
  /** Undefined when there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /**
   * Puts a whole file in the place of the old one, mode 0600. When it resolves the new one is on the disk; when it
   * rejects the old one is.
   */
  replace(path: string, content: string | Uint8Array): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

/** Returns the disk as it is. `randomName` keeps two processes from writing to one temporary file. */
export function createFiles(randomName: () => string): Files {
  return {
    read: readIfPresent,
    replace: (path, content) => replaceFile(path, content, { token: randomName() }),
    rename,
  };
}

/**
 * Makes the folder, for its owner only. Throws `StartError` for one that is another user's, or that others may write
 * to: what is in it, the server and the key of the sessions among it, could be theirs.
 */
export async function prepareFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const ours = process.getuid?.();
  if (ours === undefined) return;
  const { uid, mode } = await stat(path);
  if (uid !== ours) throw new StartError(`${path} belongs to another user; set BELAY_DATA to a folder of your own`);
  if ((mode & 0o022) !== 0) {
    throw new StartError(`${path} can be written by other users; review its content, then run: chmod 700 ${path}`);
  }
  if ((mode & 0o077) !== 0) await chmod(path, 0o700);
}
