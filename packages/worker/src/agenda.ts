import type { Context } from '@belay/core';

/** How many times are kept; the next sweep finds what else is due. */
const mostEntries = 10_000;
/**
 * Due times are cut to milliseconds on the way to this process; one more millisecond makes sure that the row is due.
 */
const slack = 1;
/** The number of sweeps over which the clocks are compared. */
const mostSamples = 8;

/** The times at which this process will look for work, by the database's clock. */
export interface Agenda {
  /** Does `work` at a time, once per key, up to `late` milliseconds after it. */
  add(key: string, at: number, work: () => void, late?: number): void;
  /** Compares the clocks: the database's time between two readings of ours, all in milliseconds since the epoch. */
  compare(asked: number, theirs: number, answered: number): void;
  /** Returns the database's time now, never ahead of it as far as is known. */
  now(): number;
  close(): void;
}

/** Creates an agenda based on timers. */
export function createAgenda(context: Pick<Context, 'clock'>): Agenda {
  const timers = new Map<string, NodeJS.Timeout>();
  let samples: number[] = [];
  const now = () => context.clock().getTime() + (samples.length === 0 ? 0 : Math.max(...samples));

  function arm(key: string, at: number, work: () => void): void {
    const timer = setTimeout(
      () => {
        // A timer may fire slightly early, and the clocks may have been changed.
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
      // The database's clock was read before the response arrived, so the difference is at least this; the fastest
      // response is the most precise.
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
