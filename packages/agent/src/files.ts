import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { readIfPresent, replaceFile } from '@belay/host';
import { StartError } from '@belay/program';

/** The file operations of the stores; passed in, so that a test can simulate a full disk. */
export interface Files {
  /** Undefined when there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces a file completely, with mode 0600. When it resolves, the new content is on the disk; when it rejects, the old content is. */
  replace(path: string, content: string | Uint8Array): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

/** Returns the operations of the real disk. `randomName` keeps two processes from writing to the same temporary file. */
export function createFiles(randomName: () => string): Files {
  return {
    read: readIfPresent,
    replace: (path, content) => replaceFile(path, content, { token: randomName() }),
    rename,
  };
}

/**
 * Creates the folder, for its owner only. Throws `StartError` for a folder of another user, or one that other users can write to: they
 * could replace its content, including the server's address and the key of the sessions.
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
