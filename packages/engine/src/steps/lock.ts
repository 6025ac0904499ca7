import { executions, inOrder, type Statement, sqlText, statementOf, steps, type Transaction } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import type { Locked } from '../ports.js';

/**
 * Returns the statement that locks an execution, whether it has ended or not, so that statements which need the lock
 * can be sent together with it.
 */
export function lockingAny(tx: Transaction, executionId: string): Statement<LockRow[]> {
  return lock(tx, executionId);
}

/** Returns the result of `lockingAny`; `running` is null when the execution has ended. */
export function lockedAny([row]: readonly LockRow[]): { ownerId: string; running: Locked | null } | null {
  return row ? { ownerId: row.ownerId, running: lockedAs(row, null) } : null;
}

/**
 * Locks an execution, and returns it with its open step `key`; null when it has ended or does not exist. `for update`
 * serialises this execution and nothing else.
 */
export async function lockExecution(tx: Transaction, executionId: string, key?: string): Promise<Locked | null> {
  // The second statement runs when the first one has the lock, and sees what the lock's previous holder committed.
  const [[row], found] = await inOrder([
    lock(tx, executionId),
    key === undefined
      ? undefined
      : tx
          .select({
            key: steps.key,
            kind: steps.kind,
            attempt: steps.attempt,
            dueAt: steps.dueAt,
            request: steps.request,
            outcomeAt: steps.outcomeAt,
          })
          .from(steps)
          .where(and(eq(steps.executionId, executionId), eq(steps.key, key), eq(steps.status, 'open'))),
  ]);
  return row ? lockedAs(row, found?.[0] ?? null) : null;
}

/** The row as the driver returns it: times are texts. */
type LockRow = Omit<Locked, 'cancelled' | 'now' | 'step'> & {
  cancelRequestedAt: string | null;
  endedAt: string | null;
  now: string;
};

function lock(tx: Transaction, executionId: string): Statement<LockRow[]> {
  return statementOf(
    tx,
    sqlText`
    select id, workflow, status, owner_id as "ownerId", input, version, cancel_requested_at as "cancelRequestedAt",
      ended_at as "endedAt", app_now() as now
    from ${executions} where id = ${executionId} for update`,
  );
}

function lockedAs(row: LockRow, step: Locked['step']): Locked | null {
  const { cancelRequestedAt, endedAt, now, ...execution } = row;
  return endedAt ? null : { ...execution, cancelled: cancelRequestedAt !== null, now: new Date(now), step };
}
