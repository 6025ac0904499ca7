import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { hashSecret } from '@belay/contract/canonical';
import type { ConfigurationSignature } from '@belay/contract/configuration';
import { CompactSign } from 'jose';
import type { Context } from '../context.js';

/**
 * Signs a payload for agents with the key that belongs to the current secret. The key of each earlier secret signs an announcement
 * of that key, with the time, so that an agent that pinned an earlier key accepts the rotation and no other key.
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

/** An Ed25519 key: `x` is its public point in base64url (RFC 8037), `kid` is a hash of `x`. */
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

/** Returns the statement as a compact JWS. */
function signStatement(key: SigningKey, payload: Record<string, unknown>): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid })
    .sign(key.privateKey);
}
