import type { Timing } from './timing.js';

interface Patient {
  timing: Timing;
  clock(): Date;
}

/** All of them together wait for silent providers as long as so many of them alone. */
const most = 3;

/**
 * Returns how one call does several things one after the other: each has its time to ask providers first, until those that were silent
 * have used up the time of all, so that a call does not take minutes beside a silent provider. What is not asked is decided as while a
 * provider is down.
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

/** Returns the signal that ends what has so many milliseconds: at once without any, so that nothing is asked. */
export function endAfter(milliseconds: number): AbortSignal {
  return milliseconds > 0
    ? AbortSignal.timeout(milliseconds)
    : AbortSignal.abort(new DOMException('There is no time left', 'TimeoutError'));
}
