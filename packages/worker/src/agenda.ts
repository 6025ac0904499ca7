import type { Context } from '@belay/core';

/** The most entries that are kept; the next sweep finds what else is due. */
const mostEntries = 10_000;
/**
 * Due times are cut to milliseconds on the way to this process; one more millisecond makes sure that the row is due.
 */
const slack = 1;
/** The number of sweeps over which the clocks are compared. */
const mostSamples = 8;

/** The times at which this process looks for work, by the database's clock. */
export interface Agenda {
  /**
   * Calls `work` at the time `at` plus `late` milliseconds. Does nothing while an entry with the same key waits, or
   * when the agenda is full.
   */
  add(key: string, at: number, work: () => void, late?: number): void;
  /**
   * Compares the clocks: `theirs` is the database's time, read between our times `asked` and `answered`. All are in milliseconds since
   * the epoch.
   */
  compare(asked: number, theirs: number, answered: number): void;
  /** Returns the estimated time of the database; as far as is known, it is never ahead of the database's clock. */
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
      // The database's clock was read after the request and before the response, so the difference of the clocks is at least
      // `theirs - answered` and less than `most`. The highest lower bound, of the fastest response, is the most precise.
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
