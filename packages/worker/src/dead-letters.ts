import type { Logger } from '@belay/core';
import type { QueueName } from './queues.js';

/** Why a job of the queue came to nothing. What it was about is due in the database, so none is kept. */
export type Death = 'unreadable' | 'failed' | 'stalled';

/** Counts the jobs that came to nothing. */
export interface DeadLetters {
  note(queue: QueueName, death: Death): void;
  counts(): Readonly<Record<Death, number>>;
}

/** Counts dead letters and writes a line for the first of a kind, the tenth, the hundredth and so on. */
export function countDeadLetters(log: Logger): DeadLetters {
  const counts: Record<Death, number> = { unreadable: 0, failed: 0, stalled: 0 };
  return {
    note(queue, death) {
      counts[death] += 1;
      const count = counts[death];
      if (Number.isInteger(Math.log10(count)))
        log.warn({ queue, death, count }, `a job of the queue was dropped: ${death}`);
    },
    counts: () => ({ ...counts }),
  };
}
