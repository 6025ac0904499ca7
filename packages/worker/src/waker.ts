import { setTimeout as wait } from 'node:timers/promises';
import { type Job, type Logger, timing, type Waker } from '@belay/core';
import type { JobQueue, QueueBackend } from './backend.js';
import { logFailure } from './outage.js';
import { type Payload, payloadOf, type QueueName, queueNames } from './queues.js';

/** How many jobs of a queue may wait to be sent; further ones are dropped, because the sweeper finds their work. */
const mostPending = 10_000;
const mostAtOnce = 500;
/** How long closing waits for jobs that are still being sent, in milliseconds. */
const longestClose = 1_000;

interface Outbox {
  name: QueueName;
  queue: JobQueue;
  pending: Payload[];
  sending: Promise<void> | null;
}

/**
 * Creates core's Waker on a queue backend. `wake` returns immediately and never throws; the jobs of one tick are sent
 * together, and jobs that arrive during a send wait for the next one. Jobs that cannot be sent are dropped. A job
 * that is due later is kept by a timer, of the worker in this process or of the one that receives it. A job that is
 * due later than the sweep looks ahead is dropped, because every worker will find its work. `options.now` is the clock
 * that due times are compared with, in milliseconds since the epoch.
 */
export function createWaker(
  backend: QueueBackend,
  log: Logger,
  options: { now?: () => number; lookAhead?: number } = {},
): Required<Waker> & { close(): Promise<void> } {
  const now = options.now ?? (() => performance.timeOrigin + performance.now());
  const lookAhead = options.lookAhead ?? timing.lookAhead;
  const outboxes = new Map<QueueName, Outbox>();
  for (const name of queueNames) {
    outboxes.set(name, { name, queue: backend.openQueue(name), pending: [], sending: null });
  }
  let closed = false;
  let scheduled = false;

  function accept(job: Job): void {
    const outbox = outboxes.get(job.queue);
    if (outbox === undefined) return;
    const { dueAt, ...due } = job;
    if (dueAt !== undefined && dueAt.getTime() - now() > lookAhead) return;
    // The worker compares the due time with the database's clock.
    if (dueAt !== undefined && backend.local) backend.local.follow(due, dueAt);
    else if (dueAt === undefined && backend.local?.take(due)) return;
    else if (outbox.pending.length < mostPending) outbox.pending.push(payloadOf(job));
  }

  function flush(outbox: Outbox): void {
    if (outbox.sending !== null || outbox.pending.length === 0) return;
    const jobs = outbox.pending.splice(0, mostAtOnce);
    outbox.sending = outbox.queue
      .add(jobs)
      .catch((error: unknown) =>
        log.debug({ error, count: jobs.length }, `jobs for ${outbox.name} were dropped; the sweeper finds the work`),
      )
      .then(() => {
        outbox.sending = null;
        flush(outbox);
      });
  }

  async function drain(outbox: Outbox): Promise<void> {
    flush(outbox);
    while (outbox.sending !== null) await outbox.sending;
  }

  return {
    wake(jobs) {
      if (closed || jobs.length === 0) return;
      try {
        for (const job of jobs) accept(job);
      } catch (error) {
        log.debug({ error }, 'jobs were dropped; the sweeper finds the work');
      }
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        for (const outbox of outboxes.values()) flush(outbox);
      });
    },
    isWanted: (bulkhead) => closed || (backend.local?.isWanted(bulkhead) ?? true),
    reserve: (bulkhead) => (closed ? null : (backend.local?.reserve(bulkhead) ?? null)),
    hand(bulkhead, work) {
      if (backend.local) backend.local.hand(bulkhead, work);
      else
        void work(true).catch((error: unknown) =>
          logFailure({ log, clock: () => new Date(now()) }, error, 'work failed; the sweeper repeats it'),
        );
    },
    async close() {
      closed = true;
      await Promise.all(
        [...outboxes.values()].map(async (outbox) => {
          await Promise.race([drain(outbox), wait(longestClose, undefined, { ref: false })]);
          outbox.pending.length = 0;
          await outbox.queue.close();
        }),
      );
    },
  };
}
