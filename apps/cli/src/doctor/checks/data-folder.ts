import { access, constants, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { type Check, failed, noServerHere, type Outcome, ok, skipped, warning } from '../check.js';

/** The free space, in bytes, below which the check warns: a database can fill it within days. */
const room = 256 * 1024 * 1024;

/** Returns the data folder, or its nearest parent folder that exists. */
async function nearest(folder: string): Promise<string> {
  const there = await stat(folder).catch(() => undefined);
  const parent = path.dirname(folder);
  return there !== undefined || parent === folder ? folder : nearest(parent);
}

async function checkSecretFile(folder: string): Promise<Outcome[]> {
  const file = path.join(folder, 'secret');
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || (found.mode & 0o077) === 0) return [];
  return [
    failed(
      `${file} can be read by other users`,
      `run: chmod 600 ${file}; create a new secret if other users may have read it`,
    ),
  ];
}

/** Checks that the data folder can be written and has enough space, and that only the server's user can read the secret in it. */
export const dataFolder: Check = {
  name: 'data folder',
  run: async ({ local, shell }) => {
    const server = await local();
    if (server === undefined) return noServerHere;
    const folder = server.dataDirectory;
    const existing = await nearest(folder);
    // A container with DATABASE_URL has no such folder, and a read-only root.
    if (existing !== folder && !server.embedded) return skipped('not needed, since DATABASE_URL is set');
    const outcomes: Outcome[] = shell.posix ? await checkSecretFile(folder) : [];
    if (!(await stat(existing)).isDirectory()) {
      return failed(`${existing} is not a folder`, 'move it away, or set BELAY_DATA to another folder');
    }
    const usable = await access(existing, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => 'refused');
    if (usable === 'refused') {
      outcomes.push(
        existing === folder
          ? failed(`${existing} cannot be written`, 'chown it to this user, or set BELAY_DATA to another folder')
          : failed(
              `${folder} cannot be created`,
              'create it and chown it to this user, or set BELAY_DATA to another folder',
            ),
      );
    }
    const { bavail, bsize } = await statfs(existing);
    if (bavail * bsize < room) {
      outcomes.push(
        warning(`${existing} has less than 256 MB left`, 'free some space, or set BELAY_DATA to another disk'),
      );
    }
    return outcomes.length > 0 ? outcomes : ok(existing === folder ? folder : `${folder} can be created`);
  },
};
