import type { Belay } from './open.js';

/** Resolves when an execution waits for an approval. */
export type Opened = (executionId: string) => Promise<void>;

/** How long to wait for a job that announces an approval before the database is queried, in milliseconds. */
const patience = 20;

/**
 * Listens to the jobs that are sent when an approval was opened, which have the time of its end, so that the database is not queried in
 * the meantime. An approval that no job announces is found by a query, on the connection of an observer, whose statements are not
 * counted as Belay's.
 */
export function listenToApprovals({ onJob, observer, ctx }: Belay): Opened {
  const waiting = new Map<string, () => void>();
  const early = new Set<string>();
  onJob((job) => {
    if (job.queue !== 'executions' || job.dueAt === undefined || !job.key.includes('/approve#')) return;
    const open = waiting.get(job.executionId);
    if (open) open();
    // The request is not answered yet.
    else early.add(job.executionId);
  });
  return async (id) => {
    if (early.delete(id)) return;
    const timer = new AbortController();
    const announced = new Promise<void>((resolve) => waiting.set(id, resolve));
    try {
      for (let open = false, times = 1; !open; times *= 2) {
        const late = ctx.delay(patience * times, timer.signal).then(
          () => isOpen(id),
          () => true,
        );
        open = await Promise.race([announced.then(() => true), late]);
      }
    } finally {
      timer.abort();
      waiting.delete(id);
      early.delete(id);
    }
  };

  async function isOpen(id: string): Promise<boolean> {
    const found = await observer`select 1 from approvals where execution_id = ${id} and status = 'open'`;
    return found.length > 0;
  }
}
