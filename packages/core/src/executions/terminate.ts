import { AccessError } from '@belay/contract/errors';
import { endByForce, lockExecution, retryDeadlock, writePrepared } from '@belay/engine';
import { nameOf } from '../actor.js';
import type { ActorContext } from '../context.js';
import { endExtensions, requireOwned } from './cancel.js';

/**
 * Ends the caller's execution by force: no further task runs, and no cleanup. Its grants still end immediately
 * (docs/interface.md, section 16, rule 1): terminating never keeps access. Throws as `cancelExecution` does.
 */
export async function terminateExecution(
  ctx: ActorContext,
  input: { id: string },
): Promise<{ status: 'ok'; message: string }> {
  await requireOwned(ctx, input.id);
  await endExtensions(ctx, input.id);
  const jobs = await retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      const execution = await lockExecution(tx, input.id);
      if (!execution) throw new AccessError('conflict', 'The execution has already ended');
      const move = endByForce(execution, { actor: ctx.actor, name: nameOf(ctx.actor) });
      await writePrepared(ctx, tx, move, { locked: true });
      return move.jobs;
    }),
  );
  ctx.crashpoint('committed');
  ctx.waker.wake(jobs);
  await endExtensions(ctx, input.id);
  return { status: 'ok', message: 'The execution is terminated and its access ends' };
}
