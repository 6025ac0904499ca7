import { notFound } from '@belay/contract/errors';
import type { Session } from '@belay/contract/sessions';
import { requireUser } from '../actor.js';
import type { ActorContext, Context, UserActor } from '../context.js';
import { readNow } from '../now.js';
import { seal } from '../tokens/seal.js';
import { type ActiveSession, findSessions } from './find.js';

/**
 * Returns the session of the caller's own login with a provider, for use in a request. Throws `not_found` when there
 * is none.
 */
export async function issueSession(ctx: ActorContext, input: { provider: string }): Promise<{ session: Session }> {
  const user = requireUser(ctx);
  const [active] = await findSessions(ctx, user, { loginId: user.loginId, provider: input.provider });
  if (!active) throw notFound(`A session with ${input.provider}`);
  return { session: await sealSession(ctx, user, active, await readNow(ctx.db)) };
}

/** Creates the token of a session; it opens until the session's end and is valid while the session has this version. */
export async function sealSession(
  ctx: Context,
  user: Pick<UserActor, 'id'>,
  active: Pick<ActiveSession, 'loginId' | 'provider' | 'version' | 'expiresAt'>,
  now: Date,
): Promise<Session> {
  const { loginId, provider, version, expiresAt } = active;
  const payload = { kind: 'session', user: user.id, login: loginId, provider, version };
  const lifetime = expiresAt.getTime() - now.getTime();
  return {
    version,
    expiry: expiresAt.toISOString(),
    session: await seal(ctx.keyring, 'session', payload, { now, lifetime }),
  };
}
