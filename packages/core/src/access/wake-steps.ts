import { steps } from '@belay/db';
import { and, eq, gt, inArray, isNull } from 'drizzle-orm';
import type { Context } from '../context.js';
import { advanceStep } from '../executions/runtime/advance.js';

/**
 * Lets the parked steps of executions look again, after something was recorded about what they were granted: it became
 * active, it is gone, its provider is down. Steps that nobody reaches here look for themselves when their time comes.
 */
export async function wakeSteps(ctx: Context, executionIds: readonly string[]): Promise<void> {
  if (executionIds.length === 0) return;
  const waiting = await ctx.db
    .select({ executionId: steps.executionId, key: steps.key })
    .from(steps)
    .where(
      and(
        inArray(steps.executionId, [...new Set(executionIds)]),
        eq(steps.status, 'open'),
        eq(steps.kind, 'call'),
        isNull(steps.leaseUntil),
        gt(steps.attempt, 0),
      ),
    );
  for (const step of waiting) {
    // One that cannot be advanced must not keep the others waiting; it looks for itself when its time comes.
    await advanceStep(ctx, step.executionId, step.key).catch((error: unknown) =>
      ctx.log.error({ ...step, error }, 'a parked step could not be advanced'),
    );
  }
}
