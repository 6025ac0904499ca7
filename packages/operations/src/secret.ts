import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, readIfPresent } from '@belay/host';
import { StartError } from '@belay/program';

export interface SecretOptions {
  /** `BELAY_SECRET`. */
  given: string | undefined;
  /** `BELAY_SECRET_PREVIOUS`: secrets that were in use before; they open what they sealed, and seal nothing new. */
  previous: readonly string[];
  dataDirectory: string;
}

/**
 * Returns the secrets of this installation (docs/architecture.md, section 11), first the one that seals: the given
 * secret, or, with the embedded database, the one created at the first start in `BELAY_DATA/secret` (mode 0600). Throws
 * `StartError` when no secret is given for an external database, and for a damaged file.
 */
export async function readSecrets(
  options: SecretOptions & {
    /** With an external database the secret must be given, because every process needs the same secret. */
    embedded: boolean;
    randomBytes(size: number): Uint8Array;
  },
): Promise<string[]> {
  if (options.given === undefined) {
    // A secret file left here by an embedded database is not used: processes on other machines would not have it.
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
 * Returns the secrets that exist, without creating one and without an error when there is none. Throws `StartError` for a
 * damaged file.
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
  // When two processes start at once, one creates the file and both read it.
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
