import { type Database, steps, type Transaction } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import { and, eq, isNull, sql } from 'drizzle-orm';

export interface StepOutcome {
  executionId: string;
  key: string;
  outcome: Outcome;
  /** The attempt that the outcome belongs to; without it the outcome belongs to any attempt. */
  attempt?: number;
}

/**
 * Stores the outcome of a call in its step, which is due from then on: a turn of the execution passes it to the
 * machine. The first outcome stays. Returns whether it was stored; the caller sends a job for the step after the
 * commit.
 */
export async function storeOutcome(db: Database | Transaction, stored: StepOutcome): Promise<boolean> {
  const kept = await db
    .update(steps)
    .set({ outcome: stored.outcome, outcomeAt: sql`app_now()`, dueAt: sql`app_now()`, leaseUntil: null, failures: 0 })
    .where(
      and(
        eq(steps.executionId, stored.executionId),
        eq(steps.key, stored.key),
        eq(steps.kind, 'call'),
        eq(steps.status, 'open'),
        isNull(steps.outcomeAt),
        stored.attempt === undefined ? undefined : eq(steps.attempt, stored.attempt),
      ),
    )
    .returning({ key: steps.key });
  return kept.length > 0;
}
