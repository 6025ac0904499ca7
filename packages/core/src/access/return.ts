import { executions, steps } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { findExecution } from '../executions/find.js';
import { advanceStep } from '../executions/runtime/advance.js';
import { endGrants } from './end.js';

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
  const { hints, open } = await ctx.db.transaction(async (tx) => {
    // Lock order: the execution first, whether it has ended or not; access outlives a workflow that completed.
    const locking = tx
      .select({ id: executions.id })
      .from(executions)
      .where(eq(executions.id, execution.id))
      .for('update');
    const reading = tx
      .select({ key: steps.key })
      .from(steps)
      .where(and(eq(steps.executionId, execution.id), eq(steps.status, 'open'), eq(steps.kind, 'call')));
    const [, parked] = await Promise.all([locking, reading]);
    const ended = await endGrants(tx, { executionId: execution.id, reason: 'returned', actor: user });
    if (ended.length === 0) throw new AccessError('conflict', 'There is nothing to give back');
    return { hints: ended, open: parked };
  });
  ctx.crashpoint('returned');
  ctx.waker.wake(hints);
  for (const { key } of open) await advanceStep(ctx, execution.id, key);
  return { status: 'ok', message: 'The access is given back' };
}
