import type { Logger } from '@belay/core';
import type { QueueName } from './queues.js';

/** How long a dead letter counts as recent, in milliseconds. */
const recentFor = 15 * 60_000;
/** The most dead letters whose times are kept. */
const mostRecent = 1_000;

/** Why a job of the queue failed. Its work is still due in the database, so the job is not kept. */
export type Death = 'unreadable' | 'failed' | 'stalled';

/** The count of failed jobs. */
export interface DeadLetters {
  note(queue: QueueName, death: Death): void;
  counts(): Readonly<Record<Death, number>>;
  /** All failed jobs since the process started, and those of the last 15 minutes (at most 1,000). */
  dropped(): { total: number; recent: number };
}

/** Counts dead letters and logs the first of each kind, the tenth, the hundredth and so on. `now` is in milliseconds. */
export function countDeadLetters(log: Logger, now: () => number = () => performance.now()): DeadLetters {
  const counts: Record<Death, number> = { unreadable: 0, failed: 0, stalled: 0 };
  let times: number[] = [];
  return {
    note(queue, death) {
      counts[death] += 1;
      times = [...times.slice(1 - mostRecent), now()];
      const count = counts[death];
      if (Number.isInteger(Math.log10(count)))
        log.warn({ queue, death, count }, `a job of the queue was dropped: ${death}`);
    },
    counts: () => ({ ...counts }),
    dropped() {
      const since = now() - recentFor;
      times = times.filter((time) => time > since);
      return { total: Object.values(counts).reduce((sum, count) => sum + count), recent: times.length };
    },
  };
}
