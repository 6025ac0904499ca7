import { type ExecutionStatus, executions, inOrder, type StepKind, steps, type Transaction } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';

/** An execution under its row lock, for whoever writes rows that hang on it. */
export interface Locked {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  input: unknown;
  version: number;
  /** Whether it was asked to end: what cleans up after it gets no access. */
  cancelled: boolean;
  now: Date;
  /** The step the caller asked about, when it is open. */
  step: {
    key: string;
    kind: StepKind;
    attempt: number;
    dueAt: Date | null;
    request: unknown;
    /** When its outcome was stored: it is over, and waits for the execution's turn. */
    outcomeAt: Date | null;
  } | null;
}

/** Locks an execution, whether it has ended or not. */
export async function lockAny(
  tx: Transaction,
  executionId: string,
): Promise<{ ownerId: string; running: Locked | null } | null> {
  const [row] = await lock(tx, executionId);
  return row ? { ownerId: row.ownerId, running: lockedAs(row, null) } : null;
}

/** Locks an execution that has not ended. `for update` serialises this execution and nothing else. */
export async function lockExecution(tx: Transaction, executionId: string, key?: string): Promise<Locked | null> {
  // The second runs when the first has the lock, and sees what the lock's last holder committed.
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

function lock(tx: Transaction, executionId: string) {
  return tx
    .select({
      id: executions.id,
      workflow: executions.workflow,
      status: executions.status,
      ownerId: executions.ownerId,
      input: executions.input,
      version: executions.version,
      cancelRequestedAt: executions.cancelRequestedAt,
      endedAt: executions.endedAt,
      now: sql<string>`app_now()`,
    })
    .from(executions)
    .where(eq(executions.id, executionId))
    .for('update');
}

function lockedAs(row: Awaited<ReturnType<typeof lock>>[number], step: Locked['step']): Locked | null {
  const { cancelRequestedAt, endedAt, now, ...execution } = row;
  return endedAt ? null : { ...execution, cancelled: cancelRequestedAt !== null, now: new Date(now), step };
}
