import { hkdfSync } from 'node:crypto';

/** Keys by identifier. The current key seals and every key opens, so that keys can be rotated. */
export interface Keyring {
  readonly current: string;
  readonly secrets: ReadonlyMap<string, Uint8Array>;
  /** Returns a key that another process has created meanwhile; undefined when there is no such key. */
  find?(kid: string): Promise<Uint8Array | undefined>;
}

/** The shortest text that is accepted as key material, in characters. */
const shortest = 32;

/**
 * Creates a keyring from texts of at least 32 characters each; the first one seals. Throws without a text, and for a
 * shorter one.
 */
export function createKeyring(secrets: readonly string[]): Keyring {
  const entries = readSecrets(secrets);
  const [first] = entries;
  if (!first) throw new Error('A keyring needs at least one secret');
  return { current: first[0], secrets: new Map(entries) };
}

/** Returns the key material of texts, each with its identifier. Throws when a text is too short. */
export function readSecrets(secrets: readonly string[]): [kid: string, material: Uint8Array][] {
  return secrets.map((secret) => {
    if (secret.length < shortest) throw new Error(`A secret must have at least ${shortest} characters`);
    const material = new TextEncoder().encode(secret);
    return [identifyKey(material), material];
  });
}

/**
 * Returns the identifier of a key. It is derived from the key, so it is the same in every process, and it reveals nothing about the key.
 */
export function identifyKey(material: Uint8Array): string {
  return Buffer.from(hkdfSync('sha256', material, '', 'belay:kid', 6)).toString('base64url');
}

/** Returns one key per secret and purpose, so that purposes share nothing (HKDF, RFC 5869). */
export function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'belay', `belay:${purpose}`, 32));
}
