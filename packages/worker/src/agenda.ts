import type { Context } from '@belay/core';

/** How many times are kept; what is due beside them is found by the sweep after it. */
const mostEntries = 10_000;
/** Due times are cut to milliseconds on the way to this process: so much later the row is due for certain. */
const slack = 1;
/** How many sweeps the clocks are compared over. */
const mostSamples = 8;

/** What this process will look at, each at its time by the database's clock. */
export interface Agenda {
  /** Does `work` at a time, and once for a key; `late` milliseconds after it. */
  add(key: string, at: number, work: () => void, late?: number): void;
  /** Compares the clocks: what the database's was between two readings of ours, all in milliseconds since the epoch. */
  compare(asked: number, theirs: number, answered: number): void;
  /** The database's time now: never ahead of it as far as is known. */
  now(): number;
  close(): void;
}

/** Makes an agenda out of timers. */
export function createAgenda(context: Pick<Context, 'clock'>): Agenda {
  const timers = new Map<string, NodeJS.Timeout>();
  let samples: number[] = [];
  const now = () => context.clock().getTime() + (samples.length === 0 ? 0 : Math.max(...samples));

  function arm(key: string, at: number, work: () => void): void {
    const timer = setTimeout(
      () => {
        // A timer may end a moment early, and the clocks may have been set.
        if (now() < at) return arm(key, at, work);
        timers.delete(key);
        work();
      },
      Math.max(0, at - now()),
    );
    timers.set(key, timer);
  }

  return {
    add(key, at, work, late = 0) {
      if (timers.size < mostEntries && !timers.has(key)) arm(key, at + slack + late, work);
    },
    compare(asked, theirs, answered) {
      // Theirs was read before the answer came, so the difference is this much at least; the quickest answer says it best.
      const most = theirs + 1 - asked;
      samples = [...samples.filter((sample) => sample <= most), theirs - answered].slice(-mostSamples);
    },
    now,
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
