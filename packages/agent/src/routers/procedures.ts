import { AccessError, errorTable } from '@belay/contract/errors';
import { internalMessage, isForeseen } from '@belay/rest';
import { TRPCError } from '@trpc/server';
import { type LocalRequestContext, localBase } from './trpc.js';

/** A procedure that every program of this machine's user can call. */
export const open = localBase.use(async ({ next, ctx, path }) => settle(await next(), ctx, path));

/** Requires that a person is signed in on this machine. Throws `unauthenticated` (401). */
export const signedIn = localBase.use(async ({ next, ctx, path }) => {
  const { person } = ctx;
  if (person === null) {
    const cause = new AccessError('unauthenticated', 'You are not signed in on this machine; sign in first');
    throw new TRPCError({ code: 'UNAUTHORIZED', message: cause.message, cause });
  }
  return settle(await next({ ctx: { person } }), ctx, path);
});

/** Translates the error of a verb for tRPC; an unexpected error goes to the log only. */
function settle<Result extends { ok: true } | { ok: false; error: TRPCError }>(
  result: Result,
  ctx: LocalRequestContext,
  path: string,
): Result {
  if (result.ok) return result;
  const { error } = result;
  if (!isForeseen(error)) {
    ctx.local.log.error({ requestId: ctx.request.id, procedure: path, error: error.cause ?? error }, 'request failed');
    throw new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: internalMessage, cause: error.cause });
  }
  const { cause } = error;
  if (cause instanceof AccessError) {
    throw new TRPCError({ code: errorTable[cause.code].rpc, message: cause.message, cause });
  }
  return result;
}
