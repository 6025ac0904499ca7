import { executions, inOrder, type Transaction } from '@belay/db';
import { interrupt } from '@belay/workflow';
import { eq, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { findExecution } from './find.js';
import { commit } from './runtime/commit.js';

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
  const done = await commit(ctx, input.id, async (execution, tx) => {
    await noteCancellation(ctx, tx, execution.id, execution.ownerId);
    // Now, not when what cleans up has ended: that may take as long as it likes.
    const hints = await endGrants(tx, { executionId: execution.id, reason: 'cancelled', actor: ctx.actor });
    return {
      transition: await interrupt(execution.definition, execution.state, execution.env),
      actor: ctx.actor,
      hints,
    };
  });
  if (!done) throw new AccessError('conflict', 'The execution has ended already');
  return { status: 'ok', message: 'The execution is cancelled and its access ends' };
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
