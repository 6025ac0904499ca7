import { AccessError, errorTable } from '@belay/contract/errors';
import { isOutage, isUnreachable, outageMessage } from '@belay/contract/outage';
import { type Actor, type AgentActor, noteOutage, type UserActor, withActor } from '@belay/core';
import { internalMessage, isForeseen } from '@belay/rest';
import { TRPCError } from '@trpc/server';
import type { RequestContext } from './request-context.js';
import { procedure } from './trpc.js';

/** Requires no login: for sign-in, health and metrics, and for requests that prove their sender in another way, such as events. */
export const publicProcedure = procedure.use(async ({ next, ctx, path, getRawInput }) => {
  refuseDeep(await getRawInput());
  return settle(await next(), ctx, path);
});

/**
 * Requires a person: operators and the system do not call over HTTP. Throws `unauthenticated` (401) without a login,
 * and `forbidden` (403) for an agent.
 */
export const authenticated = procedure.use(async ({ next, ctx, path, getRawInput }) => {
  refuseDeep(await getRawInput());
  const { actor } = ctx;
  const user = requirePerson(actor, ctx);
  // One middleware does both, because each middleware copies the context with every request.
  return settle(await next({ ctx: { actor: user, caller: withActor(ctx.core, user) } }), ctx, path);
});

/** Requires an agent, by the credential that it was enrolled with. Rejects people with `forbidden` (403). */
export const agentOnly = procedure.use(async ({ next, ctx, path, getRawInput }) => {
  refuseDeep(await getRawInput());
  const { actor } = ctx;
  if (actor === null) throw unauthenticated(ctx.token !== null);
  if (actor.kind !== 'agent')
    throw forbidden('Only agents can call this operation, with the credential that they were enrolled with');
  const agent: AgentActor = actor;
  return settle(await next({ ctx: { actor: agent, caller: withActor(ctx.core, agent) } }), ctx, path);
});

/** Requires a person or an agent. */
export const recognised = procedure.use(async ({ next, ctx, path, getRawInput }) => {
  refuseDeep(await getRawInput());
  const { actor } = ctx;
  const known = actor?.kind === 'agent' ? actor : requirePerson(actor, ctx);
  return settle(await next({ ctx: { actor: known, caller: withActor(ctx.core, known) } }), ctx, path);
});

function requirePerson(actor: Actor | null, ctx: RequestContext): UserActor {
  if (actor?.kind === 'user') return actor;
  throw actor?.kind === 'agent'
    ? forbidden('Agents cannot call this operation; it is for people')
    : unauthenticated(ctx.token !== null);
}

/**
 * Converts the error of a verb to a tRPC error. An unexpected error goes to the log with the id of the request, and
 * not to the caller.
 */
function settle<Result extends { ok: true } | { ok: false; error: TRPCError }>(
  result: Result,
  ctx: RequestContext,
  path: string,
): Result {
  if (result.ok) return result;
  const { error } = result;
  const isOurs = isOutage(error);
  if (isOurs || isUnreachable(error)) {
    const detail = { requestId: ctx.request.id, procedure: path, error: error.cause ?? error };
    if (isOurs) noteOutage(ctx.core, error);
    else ctx.core.log.warn(detail, 'request failed: another system cannot be reached');
    const cause = new AccessError('unavailable', outageMessage, { cause: error.cause });
    throw new TRPCError({ code: errorTable.unavailable.rpc, message: outageMessage, cause });
  }
  if (!isForeseen(error)) {
    ctx.core.log.error({ requestId: ctx.request.id, procedure: path, error: error.cause ?? error }, 'request failed');
    throw new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: internalMessage, cause: error.cause });
  }
  const { cause } = error;
  if (cause instanceof AccessError) {
    throw new TRPCError({ code: errorTable[cause.code].rpc, message: cause.message, cause });
  }
  return result;
}

function forbidden(message: string): TRPCError {
  return new TRPCError({ code: 'FORBIDDEN', message, cause: new AccessError('forbidden', message) });
}

function unauthenticated(hadToken: boolean): TRPCError {
  const cause = new AccessError('unauthenticated', hadToken ? 'The login is unknown or has expired' : 'Sign in first');
  return new TRPCError({ code: 'UNAUTHORIZED', message: cause.message, cause });
}

/** More levels than people write, and far fewer than a stack can hold. */
const deepest = 100;

/** Throws `invalid` for JSON with more than `deepest` levels, so that recursive functions do not overflow the stack. */
function refuseDeep(input: unknown): void {
  let level: unknown[] = [input];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) {
      const message = `The request is nested more than ${deepest} levels deep`;
      throw new TRPCError({ code: 'BAD_REQUEST', message, cause: new AccessError('invalid', message) });
    }
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}
