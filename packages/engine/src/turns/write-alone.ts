import { executeBeside } from '@belay/db';
import { retryDeadlock } from '../deadlock.js';
import type { EngineStore, PreparedMove } from '../ports.js';
import { claiming } from '../steps/lost-claims.js';
import { claimedIn, isWhole, writePrepared, writing } from './prepared.js';

/**
 * Writes a move in a transaction of its own, or together with moves of other executions, and sends its jobs. Returns
 * false, and writes nothing, when the execution has moved since.
 */
export async function writeAlone(ctx: EngineStore, move: PreparedMove): Promise<boolean> {
  const before = move.jobs.length;
  const write = async () => {
    move.jobs.length = before;
    if (isWhole(move)) return (await executeBeside(ctx.db, writing(ctx, move), [move.execution.id])).length > 0;
    return ctx.db.transaction((tx) => writePrepared(ctx, tx, move));
  };
  const written = await claiming(ctx, claimedIn(move), () => retryDeadlock(write));
  ctx.crashpoint('committed');
  if (written) ctx.waker.wake(move.jobs);
  return written;
}
