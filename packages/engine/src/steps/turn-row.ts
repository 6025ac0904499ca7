import { executions, steps, type Transaction } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { Hint } from '../ports.js';

/** The key of the row that says that an execution has something to apply. No task has it: theirs have a `#`. */
export const TURN = '/';

/** Has the execution take a turn, from the commit of this transaction on. The execution's lock is held. */
export function makingTurnDue(tx: Transaction, executionId: string) {
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
    })
    .onConflictDoUpdate({
      target: [steps.executionId, steps.key],
      set: {
        status: 'open',
        // Whoever takes a turn closes the mark that they saw, and no later one.
        attempt: sql`${steps.attempt} + 1`,
        dueAt: sql`app_now()`,
        leaseUntil: null,
        closedAt: null,
      },
    });
}

export function turnHint(executionId: string): Hint {
  return { queue: 'executions', executionId, key: TURN };
}

/** Notes that an execution was asked to end; its next turn interrupts it. The execution's lock is held. */
export function notingCancellation(tx: Transaction, executionId: string) {
  return (
    tx
      .update(executions)
      // A turn that was decided before must not be written after this.
      .set({ cancelRequestedAt: sql`app_now()`, version: sql`${executions.version} + 1` })
      .where(eq(executions.id, executionId))
  );
}
