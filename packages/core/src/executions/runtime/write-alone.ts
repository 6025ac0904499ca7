import type { Context } from '../../context.js';
import { retryDeadlock } from '../../deadlock.js';
import { type PreparedMove, writePrepared } from './prepared.js';

/** Writes a move in a transaction of its own, and sends its hints. */
export async function writeAlone(ctx: Context, move: PreparedMove): Promise<boolean> {
  const before = move.hints.length;
  const written = await retryDeadlock(() => {
    move.hints.length = before;
    return ctx.db.transaction((tx) => writePrepared(tx, move));
  });
  ctx.crashpoint('committed');
  if (written) ctx.waker.wake(move.hints);
  return written;
}
