import { hkdfSync } from 'node:crypto';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { AccessError } from '../errors.js';

/** What a sealed token is for. A token for one purpose never opens as another (design §10). */
export type SealPurpose = 'state' | 'signal' | 'session' | 'oauth';

/** Keys by identifier; the first seals, all open, so that a key can be rotated. */
export interface Keyring {
  current: string;
  secrets: ReadonlyMap<string, Uint8Array>;
}

/** A keyring from key material of at least 32 characters each; the first is the one that seals. */
export function createKeyring(secrets: readonly string[]): Keyring {
  if (secrets.length === 0) throw new Error('A keyring needs at least one secret');
  const entries = secrets.map((secret): [string, Uint8Array] => {
    if (secret.length < 32) throw new Error('A secret must have at least 32 characters');
    const material = new TextEncoder().encode(secret);
    return [Buffer.from(hkdfSync('sha256', material, '', 'belay:kid', 6)).toString('base64url'), material];
  });
  return { current: entries[0]?.[0] ?? '', secrets: new Map(entries) };
}

/** One key per secret and purpose, so that purposes share nothing (HKDF, RFC 5869). */
function keyFor(secret: Uint8Array, purpose: SealPurpose): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'belay', `belay:${purpose}`, 32));
}

export interface SealOptions {
  now: Date;
  /** Milliseconds until the token no longer opens. */
  lifetime: number;
}

/** Seals a payload as a compact JWE (dir, A256GCM; RFC 7516) that opens only for its purpose and until it expires. */
export async function seal(
  keyring: Keyring,
  purpose: SealPurpose,
  payload: Record<string, unknown>,
  options: SealOptions,
): Promise<string> {
  const secret = keyring.secrets.get(keyring.current);
  if (!secret) throw new Error('The keyring has no current key');
  return new EncryptJWT({ p: payload })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: keyring.current })
    .setIssuedAt(options.now)
    .setExpirationTime(new Date(options.now.getTime() + options.lifetime))
    .encrypt(keyFor(secret, purpose));
}

/** Opens a sealed token. Throws `invalid` for one that is expired, tampered with, or made for another purpose: all alike. */
export async function open(
  keyring: Keyring,
  purpose: SealPurpose,
  token: string,
  now: Date,
): Promise<Record<string, unknown>> {
  try {
    const { payload } = await jwtDecrypt(
      token,
      (header) => {
        const secret = keyring.secrets.get(header.kid ?? '');
        if (!secret) throw new errors.JWEDecryptionFailed();
        return keyFor(secret, purpose);
      },
      {
        currentDate: now,
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        requiredClaims: ['exp', 'iat'],
      },
    );
    return payload.p as Record<string, unknown>;
  } catch (cause) {
    throw new AccessError('invalid', 'The token is not valid or has expired', { cause });
  }
}
