import { AccessError } from '@belay/contract/errors';
import type { Actor, ActorContext, AgentActor, Context, UserActor } from './context.js';

/** The same context, with the caller in it. */
export function withActor<A extends ActorContext['actor']>(ctx: Context, actor: A): Context & { actor: A } {
  return { ...ctx, actor };
}

/** The person who calls. Throws `unauthenticated` for anybody else: people ask, approve and hold access; nobody else does. */
export function requireUser(ctx: ActorContext): UserActor {
  if (ctx.actor.kind !== 'user') throw new AccessError('unauthenticated', 'Sign in first');
  return ctx.actor;
}

/**
 * Throws `unavailable` when what the caller may do rests on groups that their provider could not be asked about for too
 * long: in doubt, nothing is approved or requested with them.
 */
export function requireFreshGroups({ stale, provider }: UserActor): void {
  if (stale !== true) return;
  throw new AccessError('unavailable', `"${provider}" cannot return your groups at the moment; try again shortly`);
}

/** The agent that calls. Throws `forbidden` for people, whose rights are others, and `unauthenticated` for nobody. */
export function requireAgent(ctx: ActorContext): AgentActor {
  if (ctx.actor.kind === 'agent') return ctx.actor;
  if (ctx.actor.kind === 'user') throw new AccessError('forbidden', 'Only agents can call this operation');
  throw new AccessError('unauthenticated', 'An agent credential is required');
}

/** Returns what an entry of the ledger calls whoever moved an execution. */
export function nameOf(actor: Actor): string {
  return actor.kind === 'user' ? actor.email : 'An operator';
}
