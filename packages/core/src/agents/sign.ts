import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { hashSecret } from '@belay/contract/canonical';
import type { ConfigurationSignature } from '@belay/contract/configuration';
import { CompactSign } from 'jose';
import type { Context } from '../context.js';

/**
 * Signs what agents receive, with the key that belongs to the current secret. The keys of earlier secrets announce
 * that key, so that an agent which pinned one of them accepts the rotation and nothing else. An announcement contains
 * its time.
 */
export async function signForAgents(
  ctx: Pick<Context, 'keyring'>,
  payload: Record<string, unknown>,
  now: Date,
): Promise<ConfigurationSignature> {
  const { current, secrets } = ctx.keyring;
  const secret = secrets.get(current);
  if (!secret) throw new Error('The keyring has no current key');
  const { kid, x, privateKey } = signingKeyOf(secret);
  const at = now.toISOString();
  const older = [...secrets].filter(([id]) => id !== current).map(([, each]) => signingKeyOf(each));
  return {
    key: { kid, x },
    announced: await Promise.all(older.map((each) => signStatement(each, { kind: 'key', kid, x, at }))),
    statement: await signStatement({ kid, x, privateKey }, payload),
  };
}

/** An Ed25519 key: its point, base64url (RFC 8037), and its hash as its name. */
interface SigningKey {
  kid: string;
  x: string;
  privateKey: KeyObject;
}

/** The prefix of an Ed25519 private key in PKCS #8 (RFC 8410, section 7); the seed follows. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Returns the signing key that belongs to a secret (HKDF, RFC 5869): nothing is stored, and rotating the secret
 * rotates the key.
 */
function signingKeyOf(secret: Uint8Array): SigningKey {
  const seed = Buffer.from(hkdfSync('sha256', secret, 'belay', 'belay:agents', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { kid: hashSecret(x).slice(0, 22), x, privateKey };
}

/** Signs a statement. */
function signStatement(key: SigningKey, payload: Record<string, unknown>): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid })
    .sign(key.privateKey);
}
