import type { ConfigurationSignature } from '@belay/contract/configuration';
import type { Context } from '../context.js';
import { signingKeyOf, signStatement } from './signature.js';

/**
 * Signs what an agent is told, with the key that belongs to the current secret. The keys of the secrets before it announce
 * that one, so that an agent which pinned one of them goes along with the rotation and with nothing else. An
 * announcement says when it was made.
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
