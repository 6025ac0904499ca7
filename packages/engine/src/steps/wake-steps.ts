import { steps } from '@belay/db';
import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm';
import type { EngineStore, Job } from '../ports.js';
import { advanceStep } from './advance.js';

/** Up to this many steps are checked immediately, by the process that recorded the change; more are made due, for every worker to share. */
const few = 4;

/**
 * Makes the parked steps of executions check again, after something was recorded about what they hold. Steps that are
 * not reached here check when their time comes.
 */
export async function wakeSteps(ctx: EngineStore, executionIds: readonly string[]): Promise<void> {
  if (executionIds.length === 0) return;
  const parked = and(
    inArray(steps.executionId, [...new Set(executionIds)]),
    eq(steps.status, 'open'),
    eq(steps.kind, 'call'),
    isNull(steps.leaseUntil),
    gt(steps.attempt, 0),
  );
  const which = { executionId: steps.executionId, key: steps.key };
  const waiting = await ctx.db.select(which).from(steps).where(parked);
  if (waiting.length > few) {
    const due = await ctx.db.update(steps).set({ dueAt: sql`app_now()` }).where(parked).returning(which);
    ctx.waker.wake(due.map((step): Job => ({ queue: 'executions', ...step })));
    return;
  }
  for (const step of waiting) {
    // A step that cannot be advanced must not delay the others; it checks again when its time comes.
    await advanceStep(ctx, step.executionId, step.key).catch((error: unknown) =>
      ctx.log.error({ ...step, error }, 'a parked step could not be advanced'),
    );
  }
}
