import type { Timing } from './timing.js';

interface Patient {
  timing: Timing;
  clock(): Date;
}

/** How long one call may wait for silent providers in total, as a multiple of `earlyCheck`. */
const most = 3;

/**
 * Returns a function that runs the parts of one call, one after the other. Each part may wait for its providers for
 * `earlyCheck`, until silent providers have used up the time for all parts, so that a call does not take minutes. After
 * that no provider is called, and a part decides as it does while a provider is down.
 */
export function sharePatience<Ctx extends Patient>(ctx: Ctx): <R>(work: (ctx: Ctx) => Promise<R>) => Promise<R> {
  const { earlyCheck } = ctx.timing;
  let left = most * earlyCheck;
  return async (work) => {
    const patience = Math.min(earlyCheck, left);
    const began = ctx.clock().getTime();
    const result = await work({ ...ctx, timing: { ...ctx.timing, earlyCheck: patience } });
    const taken = ctx.clock().getTime() - began;
    if (taken >= patience) left = Math.max(0, left - taken);
    return result;
  };
}

/** Returns a signal that aborts after some milliseconds. Without any left it has already aborted, so that no provider is called. */
export function endAfter(milliseconds: number): AbortSignal {
  return milliseconds > 0
    ? AbortSignal.timeout(milliseconds)
    : AbortSignal.abort(new DOMException('There is no time left', 'TimeoutError'));
}
