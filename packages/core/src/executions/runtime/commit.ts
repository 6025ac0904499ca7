import { type ExecutionStatus, executions, inOrder, type StepKind, signals, steps, type Transaction } from '@belay/db';
import {
  type CloudEvent,
  deliver,
  type Env,
  type Json,
  restoreState,
  type State,
  type Workflow,
} from '@belay/workflow';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import type { Actor, Context, Hint } from '../../context.js';
import { retryDeadlock } from '../../deadlock.js';
import { admitsFrom, readSender } from '../senders.js';
import { workflowOf } from './load.js';
import { type Move, writeMove } from './write.js';

/** An execution under its row lock, with what the machine needs to decide. */
export interface Locked {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  startedAt: Date | null;
  input: unknown;
  definition: Workflow;
  state: State;
  env: Env;
  now: Date;
  /** The step the caller asked about, when it is open. */
  step: { key: string; kind: StepKind; attempt: number; dueAt: Date | null; request: unknown } | null;
}

export interface CommitOptions {
  /** Reads this step under the lock; it is in `Locked.step` when it is still open. */
  key?: string;
  /** Keeps the hint of a single newly opened call for the caller, who performs it at once. */
  keepSingleCall?: boolean;
}

export interface Committed {
  move: Move;
  /** The one call that the caller said it would perform itself. */
  next: string | null;
}

/**
 * The only writer of executions, steps and signals: locks the execution's row, lets `decide` work out the next state
 * (pure, no network), writes it with its ledger rows, and sends hints after commit. An execution that has ended changes
 * no more; nor does it when `decide` answers null (design §5.3). Answers null when nothing changed.
 */
export async function commit(
  ctx: Context,
  executionId: string,
  decide: (execution: Locked, tx: Transaction) => Promise<Move | null>,
  options: CommitOptions = {},
): Promise<Committed | null> {
  const attempt = async (tx: Transaction) => {
    const locked = await lockExecution(ctx, tx, executionId, options.key);
    if (!locked) return null;
    const move = await decide(locked, tx);
    if (!move) return null;
    const hints = await writeMove(tx, locked, move);
    if (move.status === undefined && move.transition.open.some((step) => step.kind === 'event')) {
      const further = await drainInbox(tx, locked, move);
      return { move: further.move, hints: [...hints, ...further.hints] };
    }
    return { move, hints };
  };
  // `decide` is pure, so the loser of a deadlock may simply go again.
  const result = await retryDeadlock(() => ctx.db.transaction(attempt));
  ctx.crashpoint('committed');
  if (!result) return null;
  return settleHints(ctx, result, options);
}

function settleHints(ctx: Context, result: { move: Move; hints: Hint[] }, options: CommitOptions): Committed {
  const calls = result.hints.filter((hint) => hint.queue === 'executions' && hint.dueAt === undefined);
  const [only] = calls;
  if (options.keepSingleCall && calls.length === 1 && only?.queue === 'executions') {
    ctx.waker.wake(result.hints.filter((hint) => hint !== only));
    return { move: result.move, next: only.key };
  }
  ctx.waker.wake(result.hints);
  return { move: result.move, next: null };
}

/** Locks an execution that has not ended. `for update` serialises this execution and nothing else. */
export async function lockExecution(
  ctx: Context,
  tx: Transaction,
  executionId: string,
  key?: string,
): Promise<Locked | null> {
  // The second runs when the first has the lock, and sees what the lock's last holder committed.
  const [[row], found] = await inOrder([
    tx
      .select({
        id: executions.id,
        workflow: executions.workflow,
        status: executions.status,
        definitionDigest: executions.definitionDigest,
        ownerId: executions.ownerId,
        input: executions.input,
        state: executions.state,
        startedAt: executions.startedAt,
        endedAt: executions.endedAt,
        now: sql<string>`app_now()`,
      })
      .from(executions)
      .where(eq(executions.id, executionId))
      .for('update'),
    key === undefined
      ? undefined
      : tx
          .select({
            key: steps.key,
            kind: steps.kind,
            attempt: steps.attempt,
            dueAt: steps.dueAt,
            request: steps.request,
          })
          .from(steps)
          .where(and(eq(steps.executionId, executionId), eq(steps.key, key), eq(steps.status, 'open'))),
  ]);
  if (!row || row.endedAt) return null;
  const now = new Date(row.now);
  return {
    id: row.id,
    workflow: row.workflow,
    status: row.status,
    ownerId: row.ownerId,
    startedAt: row.startedAt,
    input: row.input,
    definition: await workflowOf(tx, row),
    state: restoreState(row.state, row.input as Json),
    env: environment(ctx, executionId, now, row.startedAt),
    now,
    step: found?.[0] ?? null,
  };
}

/** A move that only adds rows: the execution waits on as it is. */
export function stay(execution: Locked, actor: Actor): Move {
  const transition = {
    status: 'waiting' as const,
    state: execution.state,
    open: [],
    close: [],
    events: [],
    emitted: [],
  };
  return { transition, status: execution.status, actor };
}

/** What the machine may know of the world, as values. */
export function environment(ctx: Context, executionId: string, now: Date, startedAt: Date | null): Env {
  return {
    now: now.toISOString(),
    executionId,
    startedAt: (startedAt ?? now).toISOString(),
    evaluate: ctx.evaluate,
    runtime: { name: 'belay', version: ctx.program.version },
  };
}

function isGoingOn(move: Move): boolean {
  return move.transition.status === 'running' || move.transition.status === 'waiting';
}

/** A signal that came before its `listen` is not lost: newly opened event steps look into the inbox (design §5.5). */
async function drainInbox(tx: Transaction, locked: Locked, first: Move): Promise<{ move: Move; hints: Hint[] }> {
  const waiting = await tx
    .select()
    .from(signals)
    .where(and(eq(signals.executionId, locked.id), isNull(signals.consumedAt)))
    .orderBy(asc(signals.receivedAt));
  const hints: Hint[] = [];
  let move = first;
  const system: Actor = { kind: 'system', name: 'inbox' };
  // A listener that one signal opens may want a signal that came before it: after each delivery from the oldest again.
  for (let index = 0; index < waiting.length && isGoingOn(move); index += 1) {
    const signal = waiting[index];
    if (!signal) continue;
    const admits = admitsFrom(locked.definition, readSender(signal.sender));
    const event = signal.event as CloudEvent;
    const transition = await deliver(locked.definition, move.transition.state, event, locked.env, admits);
    if (!transition) continue;
    move = { transition, actor: system, consumed: { source: signal.source, eventId: signal.eventId } };
    hints.push(...(await writeMove(tx, locked, move)));
    waiting.splice(index, 1);
    index = -1;
  }
  return { move, hints };
}
