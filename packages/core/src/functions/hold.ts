import { readNow } from '../now.js';
import { type CallFunction, done } from './function.js';
import { readHold } from './progress/hold.js';

/**
 * `access.hold`: waits until the execution's grants have ended, by time or early (design §16). The move that opens it parks
 * it until then (`executions/runtime/prepared.ts`); this is for what has changed when that time comes.
 */
export const hold: CallFunction = {
  async perform(ctx, call) {
    const { last, reason } = await readHold(ctx.db, call.executionId);
    if (!last) return done({ ended: true, reason });
    const now = await readNow(ctx.db);
    const because = `the end of the access at ${last.toISOString()}`;
    return { kind: 'again', after: Math.max(0, last.getTime() - now.getTime()), because };
  },
};
