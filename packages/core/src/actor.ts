import { AccessError } from '@belay/contract/errors';
import type { Actor, ActorStore, AgentActor, Store, UserActor } from './context.js';

/** Returns the same context, with the caller in it. */
export function withActor<C extends Store, A extends Actor>(ctx: C, actor: A): C & { actor: A } {
  return { ...ctx, actor };
}

/**
 * Returns the person who calls. Throws `unauthenticated` for other callers: only people request, approve and hold
 * access.
 */
export function requireUser(ctx: ActorStore): UserActor {
  if (ctx.actor.kind !== 'user') throw new AccessError('unauthenticated', 'Sign in first');
  return ctx.actor;
}

/**
 * Throws `unavailable` when the caller's groups are too old because their provider cannot return them: stale groups
 * give no right to request, decide or comment.
 */
export function requireFreshGroups({ stale, provider }: UserActor): void {
  if (stale !== true) return;
  throw new AccessError('unavailable', `"${provider}" cannot return your groups at the moment; try again shortly`);
}

/**
 * Returns the agent that calls. Throws `forbidden` for people and `unauthenticated` for callers without a credential.
 */
export function requireAgent(ctx: ActorStore): AgentActor {
  if (ctx.actor.kind === 'agent') return ctx.actor;
  if (ctx.actor.kind === 'user') throw new AccessError('forbidden', 'Only agents can call this operation');
  throw new AccessError('unauthenticated', 'An agent credential is required');
}

/** Returns the name that a ledger entry shows for an actor. */
export function nameOf(actor: Actor): string {
  if (actor.kind === 'system') return 'Belay';
  return actor.kind === 'user' ? actor.email : 'An operator';
}
