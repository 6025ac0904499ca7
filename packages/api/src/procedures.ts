import { AccessError, type UserActor, withActor } from '@belay/core';
import { TRPCError } from '@trpc/server';
import { errorTable, internalMessage, isForeseen } from './errors.js';
import type { RequestContext } from './request-context.js';
import { procedure } from './trpc.js';

/** Needs no credential: sign-in and the system's own endpoints. */
export const publicProcedure = procedure.use(async ({ next, ctx, path }) => settle(await next(), ctx, path));

/** Needs a person: an operator or the system has no business on the wire. Throws `unauthenticated` (401). */
export const authenticated = procedure.use(async ({ next, ctx, path }) => {
  const { actor } = ctx;
  if (actor === null || actor.kind !== 'user') throw unauthenticated(ctx.token !== null);
  const user: UserActor = actor;
  // One middleware for both duties: each costs a copy of the context with every request.
  return settle(await next({ ctx: { actor: user, caller: withActor(ctx.core, user) } }), ctx, path);
});

/** What a verb throws, in tRPC's words; what nobody foresaw goes to the log with the request's id, and no further. */
function settle<Result extends { ok: true } | { ok: false; error: TRPCError }>(
  result: Result,
  ctx: RequestContext,
  path: string,
): Result {
  if (result.ok) return result;
  const { error } = result;
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

function unauthenticated(hadToken: boolean): TRPCError {
  const cause = new AccessError('unauthenticated', hadToken ? 'The login is unknown or has expired' : 'Sign in first');
  return new TRPCError({ code: 'UNAUTHORIZED', message: cause.message, cause });
}
