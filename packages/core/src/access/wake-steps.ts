import { grants, steps } from '@belay/db';
import { and, eq, isNull, or, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { advanceStep } from '../executions/runtime/advance.js';

/**
 * Lets the parked steps of an entitlement's executions look at it again: a grant that became active, a revocation that
 * worked, a provider that is down. Steps that nobody reaches here look for themselves when their time comes.
 */
export async function wakeSteps(ctx: Context, entitlementId: string): Promise<void> {
  const waiting = await ctx.db
    .selectDistinct({ executionId: steps.executionId, key: steps.key })
    .from(grants)
    .innerJoin(
      steps,
      and(
        eq(steps.executionId, grants.executionId),
        eq(steps.status, 'open'),
        eq(steps.kind, 'call'),
        isNull(steps.leaseUntil),
        sql`${steps.attempt} > 0`,
      ),
    )
    .where(
      and(
        eq(grants.entitlementId, entitlementId),
        // Only executions that can still be waiting for it: their grants are owed, or went away just now.
        or(isNull(grants.goneAt), sql`${grants.goneAt} > app_now() - interval '1 minute'`),
      ),
    );
  for (const step of waiting) {
    // One that cannot be advanced must not keep the others waiting; it looks for itself when its time comes.
    await advanceStep(ctx, step.executionId, step.key).catch((error: unknown) =>
      ctx.log.error({ ...step, error }, 'a parked step could not be advanced'),
    );
  }
}
