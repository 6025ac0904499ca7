import type { ActorContext, Context, UserActor } from './context.js';
import { AccessError } from './errors.js';

/** The same context, with the caller in it. */
export function withActor<A extends ActorContext['actor']>(ctx: Context, actor: A): Context & { actor: A } {
  return { ...ctx, actor };
}

/** The person who calls. Throws `unauthenticated` for anybody else: people ask, approve and hold access; nobody else does. */
export function requireUser(ctx: ActorContext): UserActor {
  if (ctx.actor.kind !== 'user') throw new AccessError('unauthenticated', 'Sign in first');
  return ctx.actor;
}
