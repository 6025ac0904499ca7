import type { Context } from '../../context.js';
import { retryDeadlock } from '../../deadlock.js';
import { isWhole, type PreparedMove, writePrepared, writing } from './prepared.js';

/** Writes a move by itself, and sends its hints. False, and nothing is written, when the execution has moved since. */
export async function writeAlone(ctx: Context, move: PreparedMove): Promise<boolean> {
  const before = move.hints.length;
  const written = await retryDeadlock(async () => {
    move.hints.length = before;
    if (isWhole(move)) return (await ctx.db.execute(writing(move))).length > 0;
    return ctx.db.transaction((tx) => writePrepared(tx, move));
  });
  ctx.crashpoint('committed');
  if (written) ctx.waker.wake(move.hints);
  return written;
}
