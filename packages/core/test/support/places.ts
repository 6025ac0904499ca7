import type { Bulkhead, Context, Job } from '@belay/core';

/** Returns a process with a worker that has this many places; `settled` resolves when all of them are free. */
export function withPlaces<T extends Context>(ctx: T, places: number) {
  const jobs: Job[] = [];
  const running = new Set<Promise<void>>();
  const bulkheads: Bulkhead[] = [];
  let taken = 0;
  const reserve = (bulkhead: Bulkhead) => {
    if (taken >= places) return null;
    taken += 1;
    bulkheads.push(bulkhead);
    let state: 'reserved' | 'running' | 'free' = 'reserved';
    const free = () => {
      if (state === 'free') return;
      state = 'free';
      taken -= 1;
    };
    return {
      run(work: () => Promise<void>) {
        state = 'running';
        const done = work().finally(() => {
          free();
          running.delete(done);
        });
        running.add(done);
      },
      release() {
        if (state === 'reserved') free();
      },
    };
  };
  const context: T = { ...ctx, waker: { wake: (sent) => void jobs.push(...sent), reserve } };
  return {
    ctx: context,
    jobs,
    bulkheads,
    taken: () => taken,
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
