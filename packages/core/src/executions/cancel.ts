import { executions, inOrder, type Transaction } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import type { ActorContext, Hint } from '../context.js';
import { retryDeadlock } from '../deadlock.js';
import { AccessError } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { findExecution } from './find.js';
import { decideTurn } from './runtime/decide-turn.js';
import { type PreparedMove, prepare, writePrepared } from './runtime/prepared.js';
import { readSnapshot } from './runtime/snapshot.js';

/** How often a cancellation that lost to another move is decided again. */
const tries = 10;

/**
 * Cancels the caller's execution: a `try` that names the cancellation may clean up; the execution ends `cancelled`
 * whatever that does, and its grants end with it (interface, rule 2; design §5.5). Throws `forbidden` for another's,
 * `conflict` for one that has ended.
 */
export async function cancelExecution(
  ctx: ActorContext,
  input: { id: string },
): Promise<{ status: 'ok'; message: string }> {
  await requireOwned(ctx, input.id);
  const hints = await cancel(ctx, input.id);
  ctx.crashpoint('committed');
  ctx.waker.wake(hints);
  return { status: 'ok', message: 'The execution is cancelled and its access ends' };
}

/** Decides what the cancellation comes to, and writes it; decides again when the execution has moved meanwhile. */
async function cancel(ctx: ActorContext, id: string): Promise<Hint[]> {
  for (let made = 0; made < tries; made += 1) {
    const snapshot = await readSnapshot(ctx, id);
    const decided = snapshot && (await decideTurn(ctx, snapshot, { is: 'interrupt', actor: ctx.actor }));
    if (!snapshot || !decided) throw new AccessError('conflict', 'The execution has ended already');
    const move = prepare(ctx, snapshot, decided, { actor: ctx.actor });
    const hints = await retryDeadlock(() =>
      ctx.db.transaction((tx) => write(ctx, tx, { ...move, hints: [...move.hints] })),
    );
    if (hints) return hints;
  }
  throw new AccessError('unavailable', 'The execution does not stand still to be cancelled; try again');
}

async function write(ctx: ActorContext, tx: Transaction, move: PreparedMove): Promise<Hint[] | null> {
  const { id, ownerId } = move.execution;
  if (!(await writePrepared(tx, move))) return null;
  await noteCancellation(ctx, tx, id, ownerId);
  // Now, not when what cleans up has ended: that may take as long as it likes.
  const ended = await endGrants(tx, { executionId: id, reason: 'cancelled', actor: ctx.actor });
  return [...move.hints, ...ended];
}

async function noteCancellation(ctx: ActorContext, tx: Transaction, id: string, ownerId: string): Promise<void> {
  await inOrder([
    tx.update(executions).set({ cancelRequestedAt: sql`app_now()` }).where(eq(executions.id, id)),
    appendLedger(tx, [
      {
        type: 'execution.cancel_requested',
        message: `${ctx.actor.kind === 'user' ? ctx.actor.email : 'An operator'} cancelled the request`,
        actor: ctx.actor,
        userId: ownerId,
        executionId: id,
      },
    ]),
  ]);
}

/** Only the owner may move an execution; whoever merely sees it is told so. Throws `conflict` for one that has ended. */
export async function requireOwned(ctx: ActorContext, id: string): Promise<void> {
  const found = await findExecution(ctx, ctx.actor, id);
  if (found.sight === 'approver') throw new AccessError('forbidden', 'The execution belongs to somebody else');
  if (found.execution.endedAt) throw new AccessError('conflict', 'The execution has ended already');
}
