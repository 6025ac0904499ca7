import { createPublicKey } from 'node:crypto';
import type { ConfigurationSignature } from '@belay/contract/configuration';
import { compactVerify } from 'jose';

/** A public key as it is announced: an Ed25519 point, base64url (RFC 8037), and the hash of it as its name. */
export interface PublicKey {
  kid: string;
  x: string;
}

/** The key that an agent trusts. */
export interface PinnedKey extends PublicKey {
  /** When it was last seen to sign (ISO 8601, the server's clock): what it announced before is over. */
  since?: string;
}

/** Returns the payload of a statement that this key signed; undefined for any other. Never throws. */
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
 * Returns the key to trust from now on: the pinned one when it signed, or the one that it has announced since.
 * Undefined when the pinned key did not announce the signing key: the signature is foreign. While a secret is exchanged
 * the new key announces the old one, too; an attacker with the old secret must not lead agents back to it afterwards.
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
