import { createPublicKey } from 'node:crypto';
import type { ConfigurationSignature } from '@belay/contract/configuration';
import { compactVerify } from 'jose';

/** A public key as the server announces it: an Ed25519 point in base64url (RFC 8037), with its hash as its id. */
export interface PublicKey {
  kid: string;
  x: string;
}

/** The key that an agent trusts. */
export interface PinnedKey extends PublicKey {
  /** The time of its latest known signature (ISO 8601, the server's clock); announcements that it signed earlier do not count. */
  since?: string;
}

/** Returns the payload of a statement that this key signed; undefined for any other statement. Never throws. */
export async function readStatement(statement: string, key: PublicKey): Promise<Record<string, unknown> | undefined> {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.x }, format: 'jwk' });
    const { payload, protectedHeader } = await compactVerify(statement, publicKey, { algorithms: ['EdDSA'] });
    const said: unknown =
      protectedHeader.kid === key.kid ? JSON.parse(Buffer.from(payload).toString('utf8')) : undefined;
    return typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the key to trust from now on: the pinned key when it signed, or a key that it announced after its latest known signature.
 * Undefined for any other key. During a change of secrets, the new key announces the old one too; an attacker with the old secret must not
 * make agents return to it afterwards.
 */
export async function followKey(pinned: PinnedKey, signature: ConfigurationSignature): Promise<PinnedKey | undefined> {
  const { key, announced } = signature;
  if (key.kid === pinned.kid) return key.x === pinned.x ? pinned : undefined;
  const statements = await Promise.all(announced.map((statement) => readStatement(statement, pinned)));
  const named = statements.some(
    (said) =>
      said?.kind === 'key' &&
      said.kid === key.kid &&
      said.x === key.x &&
      typeof said.at === 'string' &&
      said.at > (pinned.since ?? ''),
  );
  return named ? { kid: key.kid, x: key.x } : undefined;
}
