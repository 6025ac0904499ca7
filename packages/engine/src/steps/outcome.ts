import { type Database, steps, type Transaction } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import { and, eq, isNull, sql } from 'drizzle-orm';

export interface StepOutcome {
  executionId: string;
  key: string;
  outcome: Outcome;
  /** Of the claim that it is the outcome of; without one it is whoever's. */
  attempt?: number;
}

/**
 * Keeps what came of a call with its step, which is due from then on: a turn of the execution tells the machine. The first
 * outcome stays. Returns whether it was kept; the caller sends a hint for the step after commit.
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
