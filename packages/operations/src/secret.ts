import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, readIfPresent } from '@belay/host';
import { StartError } from '@belay/program';

export interface SecretOptions {
  /** `BELAY_SECRET`. */
  given: string | undefined;
  /** `BELAY_SECRET_PREVIOUS`: secrets that were in use before; they open and seal nothing. */
  previous: readonly string[];
  dataDirectory: string;
}

/**
 * Returns the key material of this installation (docs/architecture.md, section 11), the one that seals first: what was
 * given, or, with the embedded database, what was made at the first start and kept in `BELAY_DATA/secret` (mode 0600).
 * Throws `StartError`.
 */
export async function readSecrets(
  options: SecretOptions & {
    /** With a database of one's own the secret has to be given, because every process of it needs the same one. */
    embedded: boolean;
    randomBytes(size: number): Uint8Array;
  },
): Promise<string[]> {
  if (options.given === undefined) {
    // A file that an embedded database once left here is another machine's guess: the next process would not have it.
    if (!options.embedded) {
      throw new StartError(
        'BELAY_SECRET is not set: with DATABASE_URL every process needs the same one; set it, for example to the output of: openssl rand -base64 32',
      );
    }
    if ((await readSecretFile(pathOf(options))) === undefined) await makeSecret(options);
  }
  return findSecrets(options);
}

/**
 * Returns the same as far as it is there; nothing is made, and nothing is missed. Throws `StartError` for a damaged
 * file.
 */
export async function findSecrets(options: SecretOptions): Promise<string[]> {
  const current = options.given ?? (await readSecretFile(pathOf(options)));
  return [...new Set([...(current === undefined ? [] : [current]), ...options.previous])];
}

function pathOf(options: SecretOptions): string {
  return join(options.dataDirectory, 'secret');
}

async function makeSecret(options: SecretOptions & { randomBytes(size: number): Uint8Array }): Promise<void> {
  const path = pathOf(options);
  await mkdir(options.dataDirectory, { recursive: true });
  const token = Buffer.from(options.randomBytes(6)).toString('hex');
  const secret = Buffer.from(options.randomBytes(32)).toString('base64url');
  // Of two processes that start at once, one makes the file and both take what is in it.
  await createFile(path, `${secret}\n`, { token });
}

async function readSecretFile(path: string): Promise<string | undefined> {
  const secret = (await readIfPresent(path))?.toString('utf8').trim();
  if (secret === undefined) return undefined;
  if (secret.length < 32) {
    throw new StartError(
      `${path} holds fewer than 32 characters; restore it, or delete it to create a new one (everyone has to sign in again)`,
    );
  }
  return secret;
}
