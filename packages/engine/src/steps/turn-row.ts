import { execute, executions, sqlText, steps, type Transaction } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { EngineStore, Job } from '../ports.js';

/**
 * The key of the row that marks an execution with something to apply. No task has this key: keys of tasks contain a
 * `#`.
 */
export const TURN = '/';

/**
 * Returns the statement that makes a turn of the execution due, from the commit of this transaction on. The caller holds the
 * execution's lock.
 */
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
        // A turn removes the mark that it has seen, and no later one.
        attempt: sql`${steps.attempt} + 1`,
        dueAt: sql`app_now()`,
        leaseUntil: null,
        closedAt: null,
      },
    });
}

/** Deletes the mark of an execution that has ended: it was made while the move that ended the execution waited for the lock. */
export async function forgetTurn(ctx: EngineStore, executionId: string): Promise<void> {
  await execute(
    ctx.db,
    sqlText`
    delete from ${steps} where execution_id = ${executionId} and key = ${TURN}
      and exists (select from ${executions} where id = ${executionId} and ended_at is not null)`,
  );
}

export function turnJob(executionId: string): Job {
  return { queue: 'executions', executionId, key: TURN };
}

/**
 * Returns the statement that records the request to end an execution; its next turn interrupts it. The caller holds the execution's
 * lock.
 */
export function notingCancellation(tx: Transaction, executionId: string) {
  return (
    tx
      .update(executions)
      // A turn that was decided before must not be written after this.
      .set({ cancelRequestedAt: sql`app_now()`, version: sql`${executions.version} + 1` })
      .where(eq(executions.id, executionId))
  );
}
