import { executions, steps, users } from '@belay/db';
import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context } from '../../context.js';
import type { ElevationInput } from '../../elevation/input.js';
import type { ClaimedCall } from '../../functions/function.js';
import { callName, callWith } from './request.js';

/**
 * Takes the lease of a call that is due, in one statement; null when there is nothing to claim, because somebody else has
 * it, it is not due, or it is done. The attempt number it answers is the fence of whatever the call leads to (design §5.3).
 */
export async function claimCall(ctx: Context, executionId: string, key: string): Promise<ClaimedCall | null> {
  const [row] = await ctx.db
    .update(steps)
    .set({
      attempt: sql`${steps.attempt} + 1`,
      leaseUntil: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`,
    })
    .from(executions)
    .innerJoin(users, eq(users.id, executions.ownerId))
    .where(
      and(
        eq(steps.executionId, executionId),
        eq(steps.key, key),
        eq(steps.kind, 'call'),
        eq(steps.status, 'open'),
        lte(steps.dueAt, sql`app_now()`),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
        eq(executions.id, steps.executionId),
      ),
    )
    .returning({
      request: steps.request,
      attempt: steps.attempt,
      openedAt: steps.openedAt,
      input: executions.input,
      ownerId: executions.ownerId,
      email: users.email,
      groups: users.groups,
    });
  if (!row) return null;
  ctx.crashpoint('step claimed');
  const input = row.input as ElevationInput;
  return {
    executionId,
    key,
    attempt: row.attempt,
    name: callName(row.request),
    with: callWith(row.request),
    // Who they are now: somebody who has left a group since they asked has left its rights (design §16, access.validate).
    input: { ...input, user: { ...input.user, email: row.email, groups: row.groups } },
    ownerId: row.ownerId,
    openedAt: row.openedAt,
  };
}
