import { AccessError } from '@belay/contract/errors';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { deriveKey, type Keyring } from '../keyring.js';

/** The purpose of a sealed token. A token for one purpose never opens as another (docs/architecture.md, section 9). */
export type SealPurpose = 'state' | 'task' | 'signal' | 'session' | 'oauth' | 'decision' | 'unsent';

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
    .encrypt(deriveKey(secret, purpose));
}

/**
 * Opens a sealed token. Throws the same `invalid` for one that is expired, modified, or created for another purpose,
 * and `unavailable` when its key cannot be read or unwrapped at the moment.
 */
export async function open(
  keyring: Keyring,
  purpose: SealPurpose,
  token: string,
  now: Date,
): Promise<Record<string, unknown>> {
  try {
    const { payload } = await jwtDecrypt(
      token,
      async ({ kid = '' }) => {
        const secret = keyring.secrets.get(kid) ?? (await keyring.find?.(kid));
        if (!secret) throw new errors.JWEDecryptionFailed();
        return deriveKey(secret, purpose);
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
    // The key could not be searched for, so the token may be valid: its holder may try again.
    if (cause instanceof AccessError) throw cause;
    throw new AccessError('invalid', 'The token is not valid or has expired', { cause });
  }
}
