import { AccessError } from '@belay/contract/errors';
import { inOrder, type Transaction } from '@belay/db';
import {
  decideTurn,
  type Locked,
  lockExecution,
  makingTurnDue,
  notingCancellation,
  type PreparedMove,
  prepare,
  readSnapshot,
  retryDeadlock,
  turnHint,
  writePrepared,
} from '@belay/engine';
import { endGrants } from '../access/end.js';
import { nameOf } from '../actor.js';
import type { ActorContext, Hint } from '../context.js';
import { findExecution } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';

/** How often a cancellation that lost against another move is decided again, before it is left to the next turn. */
const tries = 3;

/**
 * Cancels the caller's execution: a `try` that names the cancellation may clean up; the execution ends `cancelled`
 * regardless of the cleanup, and its grants end with it (docs/interface.md, section 4, rule 2; docs/architecture.md,
 * section 5). Throws `forbidden` for another person's execution, `conflict` for one that has ended.
 */
export async function cancelExecution(
  ctx: ActorContext,
  input: { id: string },
): Promise<{ status: 'ok'; message: string }> {
  await requireOwned(ctx, input.id);
  await cancelUnasked(ctx, input.id);
  return { status: 'ok', message: 'The execution is cancelled and its access ends' };
}

/** Does the same without looking at whose execution it is. */
export async function cancelUnasked(ctx: ActorContext, id: string): Promise<void> {
  const hints = await cancel(ctx, id);
  ctx.crashpoint('committed');
  ctx.waker.wake(hints);
}

/** Decides the move of the cancellation, and writes it; decides again when the execution has moved meanwhile. */
async function cancel(ctx: ActorContext, id: string): Promise<Hint[]> {
  for (let made = 0; made < tries; made += 1) {
    const snapshot = await readSnapshot(ctx, id);
    const decided = snapshot && (await decideTurn(ctx, snapshot, { is: 'interrupt', actor: ctx.actor }));
    if (!snapshot || !decided) throw hasEnded();
    const move = prepare(ctx, snapshot, decided, { actor: ctx.actor });
    const hints = await store(ctx, id, { ...move, hints: [...move.hints] });
    if (hints) return hints;
  }
  const hints = (await store(ctx, id)) ?? [];
  ctx.crashpoint('cancellation stored');
  return hints;
}

/**
 * Stores the cancellation and ends the access immediately, because the cleanup may take any time. Without a move,
 * which an execution that always moves may outrun, its next turn applies the cancellation before anything else.
 * Returns null, and writes nothing, when it has moved since the move was decided.
 */
function store(ctx: ActorContext, id: string, move?: PreparedMove): Promise<Hint[] | null> {
  const before = move?.hints.length ?? 0;
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx): Promise<Hint[] | null> => {
      if (move) move.hints.length = before;
      const locked = await lockExecution(tx, id);
      if (!locked) throw hasEnded();
      if (move && move.version !== locked.version) return null;
      // Before the move, because the move ends what its closed steps were granted, with another reason.
      const ended = await endGrants(tx, { executionId: id, reason: 'cancelled', actor: ctx.actor });
      if (move) await writePrepared(ctx, tx, move, { locked: true });
      else await makingTurnDue(tx, id);
      await noteCancellation(ctx, tx, locked);
      return [...ended, ...(move?.hints ?? [turnHint(id)])];
    }),
  );
}

async function noteCancellation(ctx: ActorContext, tx: Transaction, { id, ownerId }: Locked): Promise<void> {
  await inOrder([
    notingCancellation(tx, id),
    appendLedger(tx, [
      {
        type: 'execution.cancel_requested',
        message: `${nameOf(ctx.actor)} cancelled the request`,
        actor: ctx.actor,
        userId: ownerId,
        executionId: id,
      },
    ]),
  ]);
}

/**
 * Throws unless the caller owns the execution: `forbidden` for others who see it, and `conflict` for one that has
 * ended.
 */
export async function requireOwned(ctx: ActorContext, id: string): Promise<void> {
  const found = await findExecution(ctx, ctx.actor, id);
  if (found.sight === 'approver' || found.sight === 'overseer')
    throw new AccessError('forbidden', 'The execution belongs to another person');
  if (found.execution.endedAt) throw hasEnded();
}

function hasEnded(): AccessError {
  return new AccessError('conflict', 'The execution has already ended');
}
