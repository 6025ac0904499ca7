import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from './start-error.js';

export interface SecretOptions {
  /** `BELAY_SECRET`. */
  given: string | undefined;
  /** With a database of one's own the secret has to be given, because every process of it needs the same one. */
  embedded: boolean;
  dataDirectory: string;
  randomBytes(size: number): Uint8Array;
}

/**
 * The key material of this installation (design §15): what was given, or, with the embedded database, what was made at
 * the first start and kept in `BELAY_DATA/secret` (mode 0600). Throws `StartError`.
 */
export async function readSecret(options: SecretOptions): Promise<string> {
  if (options.given !== undefined) return options.given;
  if (!options.embedded) {
    throw new StartError(
      'BELAY_SECRET is not set: with DATABASE_URL every process needs the same one; set it, e.g. to the output of: openssl rand -base64 32',
    );
  }
  const path = join(options.dataDirectory, 'secret');
  const found = await readIfThere(path);
  if (found !== undefined) return check(found, path);
  await mkdir(options.dataDirectory, { recursive: true });
  const temporary = `${path}.${Buffer.from(options.randomBytes(6)).toString('hex')}`;
  await writeFile(temporary, `${Buffer.from(options.randomBytes(32)).toString('base64url')}\n`, { mode: 0o600 });
  try {
    // Of two processes that start at once, one makes the file and both take what is in it.
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(temporary);
  }
  return check((await readIfThere(path)) ?? '', path);
}

function check(text: string, path: string): string {
  const secret = text.trim();
  if (secret.length < 32) {
    throw new StartError(
      `${path} holds fewer than 32 characters; restore it, or delete it to have a new one made (everyone signs in again)`,
    );
  }
  return secret;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
