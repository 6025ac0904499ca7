import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent, replaceFile } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/**
 * Returns the superuser's password: from the 0600 file in the data folder, or a new one written there when there is no
 * cluster yet.
 *
 * @throws EmbeddedPostgresError `start_failed` when a cluster exists and its password is missing.
 */
export async function readPassword(
  dataDirectory: string,
  clusterExists: boolean,
  { randomBytes }: { randomBytes(size: number): Uint8Array },
): Promise<string> {
  const file = join(dataDirectory, 'postgres.password');
  const found = (await readIfPresent(file))?.toString('utf8').trim() ?? '';
  if (found !== '') {
    if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0) {
      await chmod(file, 0o600);
    }
    return found;
  }
  if (clusterExists) {
    throw new EmbeddedPostgresError(
      'start_failed',
      `The password file ${file} is missing, but its database exists: restore the file, or move the folder ${join(dataDirectory, 'postgres')} away to start with an empty database.`,
    );
  }
  const password = Buffer.from(randomBytes(24)).toString('base64url');
  // Synced to the disk: without the password, the cluster that is created next could never be opened again.
  await replaceFile(file, `${password}\n`, { token: Buffer.from(randomBytes(6)).toString('hex') });
  return password;
}
