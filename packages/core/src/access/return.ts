import { type EndedReason, executions, inOrder, steps } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { findExecution } from '../executions/find.js';
import { advanceStep } from '../executions/runtime/advance.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { endGrants } from './end.js';
import { openPlaces } from './places.js';

/**
 * Gives the access of the caller's execution back before its time. The grants end in this transaction; the provider
 * follows at once, and is asked until it has (R3, R4). Throws `forbidden` for another's, `conflict` when nothing is held.
 */
export async function returnAccess(
  ctx: ActorContext,
  input: { execution_id: string },
): Promise<{ status: 'ok'; message: string }> {
  const user = requireUser(ctx);
  const { execution, sight } = await findExecution(ctx, user, input.execution_id);
  if (sight !== 'owner') throw new AccessError('forbidden', 'The access belongs to somebody else');
  await endHeld(ctx, execution, { reason: 'returned' });
  return { status: 'ok', message: 'The access is given back' };
}

/**
 * Ends what an execution holds, whether it has ended itself or not: access outlives a workflow that completed. Its parked
 * steps look at it at once. Throws `conflict` when nothing is held.
 */
export async function endHeld(
  ctx: ActorContext,
  execution: { id: string },
  how: { reason: EndedReason; entry?: LedgerEntry },
): Promise<void> {
  const places = openPlaces(ctx);
  let open: { key: string }[];
  try {
    open = await ctx.db.transaction(async (tx) => {
      // Lock order: the execution first.
      const locking = tx
        .select({ id: executions.id })
        .from(executions)
        .where(eq(executions.id, execution.id))
        .for('update');
      const reading = tx
        .select({ key: steps.key })
        .from(steps)
        .where(and(eq(steps.executionId, execution.id), eq(steps.status, 'open'), eq(steps.kind, 'call')));
      const [, parked] = await inOrder([locking, reading]);
      const ended = await endGrants(tx, { executionId: execution.id, reason: how.reason, actor: ctx.actor });
      if (ended.length === 0) throw new AccessError('conflict', 'The execution holds nothing');
      if (how.entry) await appendLedger(tx, [how.entry]);
      await places.claim(tx, ended, 'revoke');
      return parked;
    });
    ctx.crashpoint('returned');
    ctx.waker.wake(places.begin());
  } finally {
    places.release();
  }
  for (const { key } of open) {
    // The access ends in any case; a step that cannot be advanced here is, when the revocation is recorded.
    await advanceStep(ctx, execution.id, key).catch((error: unknown) =>
      ctx.log.debug({ execution: execution.id, key, error }, 'a parked step was left to a worker'),
    );
  }
}
