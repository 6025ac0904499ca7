import type { Transaction } from '@belay/db';
import { endByForce, lockExecution, writePrepared } from '@belay/engine';
import { nameOf } from '../actor.js';
import type { ActorStore, Job } from '../context.js';

/**
 * Ends an execution by force in the caller's transaction: no further task runs, and its grants end. Returns the jobs
 * for workers; null, and writes nothing, when it has already ended.
 */
export async function terminating(
  ctx: ActorStore,
  tx: Transaction,
  id: string,
  name = nameOf(ctx.actor),
): Promise<Job[] | null> {
  const execution = await lockExecution(tx, id);
  if (!execution) return null;
  const move = endByForce(execution, { actor: ctx.actor, name });
  await writePrepared(ctx, tx, move, { locked: true });
  return move.jobs;
}
