import { lockExecution } from '../executions/runtime/commit.js';
import { type CallFunction, done, parked } from './function.js';
import { parkCall } from './park.js';
import { endReason, lastExpiry } from './progress/hold.js';

/** `access.hold`: waits until the execution's grants have ended, by time or early (design §16). */
export const hold: CallFunction = {
  async perform(ctx, call) {
    const held = await ctx.db.transaction(async (tx) => {
      const locked = await lockExecution(ctx, tx, call.executionId, call.key);
      if (!locked?.step || locked.step.attempt !== call.attempt) return { performed: parked };
      const last = await lastExpiry(tx, call.executionId);
      if (!last) return { performed: done({ ended: true, reason: await endReason(tx, call.executionId) }) };
      await parkCall(tx, call, {
        waitingFor: `the end of the access at ${last.toISOString()}`,
        dueAt: last,
        waiting: true,
      });
      return { performed: parked, last };
    });
    ctx.crashpoint('held');
    if (held.last)
      ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: call.key, dueAt: held.last }]);
    return held.performed;
  },
};
