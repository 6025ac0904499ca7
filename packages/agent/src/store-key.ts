import { join } from 'node:path';
import { StartError } from '@belay/program';
import type { Files } from './files.js';

/** The key of the store, and where it is kept. */
export interface StoreKey {
  key: Buffer;
  kept: 'keyring' | 'file';
}

/** A store for secrets of the operating system. Both methods reject when it cannot be used. */
export interface Keyring {
  get(): Promise<string | undefined>;
  set(secret: string): Promise<void>;
}

export interface StoreKeyOptions {
  folder: string;
  files: Files;
  /** Undefined when this machine has no keyring, or when it must not be used. */
  keyring: Keyring | undefined;
  randomBytes(size: number): Buffer;
}

const inKeyring = 'in the keyring of the operating system';

/**
 * Returns the key that seals the store. It is created at the first start and kept in the operating system's keyring if
 * possible, or else in a file with mode 0600. Later starts read only the place that has it. Throws `StartError` when
 * that keyring cannot be read, or when the stored text is not a key.
 */
export async function openStoreKey({ folder, files, keyring, randomBytes }: StoreKeyOptions): Promise<StoreKey> {
  const path = join(folder, 'key');
  const found = (await files.read(path))?.toString('utf8').trim();
  if (found === inKeyring) {
    const secret = await keyring?.get().catch(() => undefined);
    if (secret !== undefined) return { key: decode(secret, 'the keyring'), kept: 'keyring' };
    throw new StartError(
      `The key of ${folder} is in the keyring of the operating system, which is locked or does not return it; unlock it, or delete ${path} to start with an empty store`,
    );
  }
  if (found !== undefined) return { key: decode(found, path), kept: 'file' };
  const key = randomBytes(32);
  const text = key.toString('base64url');
  if (keyring !== undefined) {
    try {
      await keyring.set(text);
      // Use the keyring only when it returns the key that it stored.
      if ((await keyring.get()) === text) {
        await files.replace(path, `${inKeyring}\n`);
        return { key, kept: 'keyring' };
      }
    } catch {
      // Without a keyring, the key goes to a file.
    }
  }
  await files.replace(path, `${text}\n`);
  return { key, kept: 'file' };
}

function decode(text: string, where: string): Buffer {
  const key = Buffer.from(text, 'base64url');
  if (key.length === 32) return key;
  throw new StartError(`${where} does not contain a key; restore it, or delete it to start with an empty store`);
}

/** How long a keyring may take, in milliseconds: one that prompts a person who is not there would never respond. */
const patience = 3_000;

/**
 * Returns the operating system's keyring: Keychain, Credential Manager, or the Secret Service of a desktop session. On Linux without a
 * session bus it is not loaded: only the kernel's keyring would be available, which loses its content at the next boot.
 */
export async function openKeyring(
  account: string,
  variables: Record<string, string | undefined>,
): Promise<Keyring | undefined> {
  if (process.platform === 'linux' && !variables.DBUS_SESSION_BUS_ADDRESS) return undefined;
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    const entry = new AsyncEntry('belay', account);
    return {
      get: async () => (await entry.getPassword(AbortSignal.timeout(patience))) ?? undefined,
      set: (secret) => entry.setPassword(secret, AbortSignal.timeout(patience)),
    };
  } catch {
    return undefined;
  }
}
