import { type Context, type Job, type Place, reconcileEntitlement } from '@belay/core';
import { performStep } from '@belay/engine';

/**
 * Returns a context whose due work is done in this process, as a worker with a free place for everything does it. Work that is due
 * later is left. `rest` resolves when nothing is being done.
 */
export function workHere<C extends Context>(ctx: C): { ctx: C; rest(): Promise<void> } {
  const under = new Set<Promise<void>>();
  const start = (work: () => Promise<void>) => {
    const one: Promise<void> = Promise.resolve()
      .then(work)
      .finally(() => under.delete(one));
    under.add(one);
  };
  const reserve = (): Place => ({ run: start, release: () => {} });
  const wake = (jobs: readonly Job[]) => {
    for (const job of jobs) {
      if (job.dueAt) continue;
      start(() => (job.queue === 'executions' ? performStep(here, job) : reconcileEntitlement(here, job)));
    }
  };
  const here = { ...ctx, waker: { reserve, wake } };
  const rest = async () => {
    while (under.size > 0) await Promise.all(under);
  };
  return { ctx: here, rest };
}
