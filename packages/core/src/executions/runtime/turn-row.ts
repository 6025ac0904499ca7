import { steps, type Transaction } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Hint } from '../../context.js';

/** The key of the row that says that an execution has something to apply. No task has it: theirs have a `#`. */
export const TURN = '/';

/**
 * Has the execution take a turn, from the commit of this transaction on. The execution's lock is held, or nobody else knows
 * it. `lease`: for how many milliseconds the caller alone takes it.
 */
export function makingTurnDue(tx: Transaction, executionId: string, lease = 0) {
  const leaseUntil = lease === 0 ? null : sql`app_now() + ${`${lease} milliseconds`}::interval`;
  return tx
    .insert(steps)
    .values({
      executionId,
      key: TURN,
      kind: 'turn',
      status: 'open',
      request: {},
      attempt: 1,
      dueAt: sql`app_now()`,
      leaseUntil,
    })
    .onConflictDoUpdate({
      target: [steps.executionId, steps.key],
      set: {
        status: 'open',
        // Whoever takes a turn closes the mark that they saw, and no later one.
        attempt: sql`${steps.attempt} + 1`,
        dueAt: sql`app_now()`,
        leaseUntil,
        closedAt: null,
      },
    });
}

export function turnHint(executionId: string): Hint {
  return { queue: 'executions', executionId, key: TURN };
}
