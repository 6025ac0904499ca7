import { type Database, execute, type SqlText, sqlText, steps, type Transaction } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import { claimText } from './lost-claims.js';

export interface StepOutcome {
  executionId: string;
  key: string;
  outcome: Outcome;
  /** The attempt that the outcome belongs to; without it the outcome belongs to any attempt. */
  attempt?: number;
  /** How long only the caller may take the turn that follows, in milliseconds, and the id of that claim. */
  lease?: { milliseconds: number; claimId: string } | undefined;
}

/**
 * Stores the outcome of a call in its step, which is due from then on: a turn of the execution passes it to the
 * machine. The first outcome stays. Returns whether it was stored; the caller sends a job for the step after the
 * commit.
 */
export async function storeOutcome(db: Database | Transaction, stored: StepOutcome): Promise<boolean> {
  return (await execute(db, storingOutcome(stored))).length > 0;
}

/** Returns the statement of `storeOutcome`. `when`: the condition under which another statement stores the outcome. */
export function storingOutcome(
  { executionId, key, outcome, attempt, lease }: StepOutcome,
  when: SqlText = sqlText`true`,
): SqlText {
  const claimed = lease
    ? sqlText`lease_until = app_now() + ${`${lease.milliseconds} milliseconds`}::interval, claim = ${claimText(lease.claimId, sqlText`attempt`)}`
    : sqlText`lease_until = null`;
  return sqlText`
    update ${steps} set outcome = ${JSON.stringify(outcome)}::text::jsonb, outcome_at = app_now(), due_at = app_now(), failures = 0, ${claimed}
    where execution_id = ${executionId} and key = ${key} and kind = 'call' and status = 'open' and outcome_at is null
      ${attempt === undefined ? sqlText`` : sqlText`and attempt = ${attempt}`} and ${when}
    returning key`;
}
