import {
  approvals,
  type ExecutionStatus,
  executions,
  inOrder,
  type Statement,
  signals,
  steps,
  type Transaction,
} from '@belay/db';
import { type Step, storeState, type Transition } from '@belay/workflow';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { endGrants } from '../../access/end.js';
import type { Actor, Hint } from '../../context.js';
import { appendLedger, type LedgerEntry } from '../../ledger/append.js';
import { describeEvent } from './describe.js';

export interface Written {
  id: string;
  workflow: string;
  ownerId: string;
  startedAt: Date | null;
}

/** How an execution's next state came about. */
export interface Move {
  transition: Transition;
  /** Ends as this instead of what the machine says (terminate). */
  status?: ExecutionStatus;
  /** The step that was resolved, and how; it is closed as done or failed. */
  resolved?: { key: string; ok: boolean };
  /** A signal from the inbox that was consumed. */
  consumed?: { source: string; eventId: string };
  actor: Actor;
  /** What else the ledger must tell in the same transaction. */
  entries?: LedgerEntry[];
  /** Other hints to send after commit. */
  hints?: Hint[];
}

const final: readonly ExecutionStatus[] = ['completed', 'faulted', 'cancelled', 'terminated'];

/** The rows of newly opened steps. */
export function stepRows(executionId: string, open: readonly Step[]) {
  return open.map((step) => ({
    executionId,
    key: step.key,
    kind: step.kind,
    status: 'open' as const,
    request: step.request,
    // A call is due at once; an event never is.
    dueAt: step.dueAt ? new Date(step.dueAt) : step.kind === 'call' ? sql<Date>`app_now()` : null,
  }));
}

/** The ledger's account of a transition. */
export function entriesOf(execution: Written, transition: Transition, actor: Actor): LedgerEntry[] {
  const common = { actor, userId: execution.ownerId, executionId: execution.id };
  const lifecycle = transition.events.map((event): LedgerEntry => {
    const { message, task } = describeEvent(event);
    const level = event.type.includes('.faulted.') ? 'warning' : 'info';
    return { ...common, type: event.type, level, message, data: { ...event.data, ...(task ? { task } : {}) } };
  });
  const emitted = transition.emitted.map(
    (event): LedgerEntry => ({
      ...common,
      type: event.type,
      message: `Emitted ${event.type}`,
      data: { source: event.source, id: event.id },
    }),
  );
  return [...lifecycle, ...emitted];
}

/**
 * Writes an execution's next state, its steps and its ledger rows in the caller's transaction, which holds the
 * execution's row lock. When the execution is abandoned (cancelled, terminated, faulted) its grants end here too, in the
 * same transaction: no grant outlives the right to it (design §5.3, §6). Answers the hints to send after commit.
 */
export async function writeMove(tx: Transaction, execution: Written, move: Move): Promise<Hint[]> {
  const { transition } = move;
  const status = move.status ?? transition.status;
  const ended = final.includes(status);
  const work: (Statement | undefined)[] = [];
  const closing = transition.close.filter((key) => key !== move.resolved?.key);
  // What ends by force, rather than by the machine, leaves steps that the machine has not closed.
  const closeAll = ended && move.status !== undefined;
  if (move.resolved) {
    work.push(
      tx
        .update(steps)
        .set({
          status: move.resolved.ok ? 'done' : 'failed',
          closedAt: sql`app_now()`,
          leaseUntil: null,
          waitingFor: null,
        })
        .where(and(eq(steps.executionId, execution.id), eq(steps.key, move.resolved.key))),
    );
  }
  if (closeAll || closing.length > 0) {
    const which = closeAll ? eq(steps.status, 'open') : and(eq(steps.status, 'open'), inArray(steps.key, closing));
    work.push(
      tx
        .update(steps)
        .set({ status: 'closed', closedAt: sql`app_now()`, leaseUntil: null, waitingFor: null })
        .where(and(eq(steps.executionId, execution.id), which)),
      tx
        .update(approvals)
        .set({ status: 'withdrawn', closedAt: sql`app_now()` })
        .where(
          and(
            eq(approvals.executionId, execution.id),
            eq(approvals.status, 'open'),
            closeAll ? undefined : inArray(approvals.stepKey, closing),
          ),
        ),
    );
  }
  if (!ended && transition.open.length > 0) work.push(tx.insert(steps).values(stepRows(execution.id, transition.open)));
  if (move.consumed) {
    work.push(
      tx
        .update(signals)
        .set({ consumedAt: sql`app_now()` })
        .where(
          and(
            eq(signals.executionId, execution.id),
            eq(signals.source, move.consumed.source),
            eq(signals.eventId, move.consumed.eventId),
            isNull(signals.consumedAt),
          ),
        ),
    );
  }
  work.push(
    tx
      .update(executions)
      .set({
        status,
        state: storeState(transition.state),
        ...(transition.output === undefined ? {} : { output: transition.output }),
        ...(transition.fault === undefined ? {} : { fault: transition.fault }),
        ...(ended ? { endedAt: sql`app_now()` } : {}),
      })
      .where(eq(executions.id, execution.id)),
    appendLedger(tx, [...entriesOf(execution, transition, move.actor), ...(move.entries ?? [])]),
  );
  // One round trip on the transaction's connection.
  await inOrder(work);
  const hints = [...(move.hints ?? [])];
  // A grant step that is closed before it was resolved was given up: what it intended is nobody's any more.
  if (closing.length > 0) {
    hints.push(
      ...(await endGrants(tx, { executionId: execution.id, stepKeys: closing, reason: 'failed', actor: move.actor })),
    );
  }
  if (!ended) return [...hints, ...hintsOf(execution.id, transition.open)];
  // One that completes leaves its grants to expire.
  if (status !== 'faulted' && status !== 'cancelled' && status !== 'terminated') return hints;
  return [...hints, ...(await endGrants(tx, { executionId: execution.id, reason: status, actor: move.actor }))];
}

/** "Look now" for every step that can be due; an event step waits for somebody else. */
export function hintsOf(executionId: string, open: readonly Step[]): Hint[] {
  return open
    .filter((step) => step.kind !== 'event')
    .map((step) => ({
      queue: 'executions',
      executionId,
      key: step.key,
      ...(step.dueAt ? { dueAt: new Date(step.dueAt) } : {}),
    }));
}
