import { setTimeout as wait } from 'node:timers/promises';
import type { Hint, Lane, Logger, Place, Waker } from '@belay/core';
import type { HintJob, HintQueue, QueueBackend } from './backend.js';
import { payloadOf, type QueueName, queueNames } from './queues.js';

/** The longest delay that a timer can hold, 24 days; what is due later is the sweeper's. */
const longestDelay = 2 ** 31 - 1;
/** Due times are cut to milliseconds on the way, so a hint on the dot could come a moment before the row is due. */
const slack = 5;
/** How many hints of a queue may wait for one sending; more than that are dropped, they are only hints. */
const mostPending = 10_000;
const mostAtOnce = 500;
/** How long closing waits for hints that are still on their way. */
const longestClose = 1_000;

interface Outbox {
  name: QueueName;
  queue: HintQueue;
  pending: HintJob[];
  sending: Promise<void> | null;
}

/**
 * Core's Waker over a queue backend. `wake` returns at once and never throws; the hints of one tick go out together,
 * and those that come while a sending is under way wait for the next one. What cannot be sent is forgotten.
 * `options.now` is the clock in milliseconds since the epoch that future due times are measured against.
 */
export function createWaker(
  backend: QueueBackend,
  log: Logger,
  options: { now?: () => number } = {},
): Waker & { reserve(lane: Lane): Place | null; close(): Promise<void> } {
  const now = options.now ?? (() => performance.timeOrigin + performance.now());
  const outboxes = new Map<QueueName, Outbox>();
  for (const name of queueNames) {
    outboxes.set(name, { name, queue: backend.openQueue(name), pending: [], sending: null });
  }
  let closed = false;
  let scheduled = false;

  function accept(hint: Hint): void {
    const outbox = outboxes.get(hint.queue);
    if (outbox === undefined) return;
    const delay = hint.dueAt === undefined ? 0 : delayUntil(hint.dueAt, now());
    if (delay === 0 && backend.local?.take(hint)) return;
    if (outbox.pending.length < mostPending) outbox.pending.push({ payload: payloadOf(hint), delay });
  }

  function flush(outbox: Outbox): void {
    if (outbox.sending !== null || outbox.pending.length === 0) return;
    const jobs = outbox.pending.splice(0, mostAtOnce);
    outbox.sending = outbox.queue
      .add(jobs)
      .catch((error: unknown) => log.debug({ error, count: jobs.length }, `hints for ${outbox.name} were dropped`))
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
    wake(hints) {
      if (closed || hints.length === 0) return;
      try {
        for (const hint of hints) accept(hint);
      } catch (error) {
        log.debug({ error }, 'hints were dropped');
      }
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        for (const outbox of outboxes.values()) flush(outbox);
      });
    },
    reserve: (lane) => (closed ? null : (backend.local?.reserve(lane) ?? null)),
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

function delayUntil(dueAt: Date, now: number): number {
  const delay = Math.ceil(dueAt.getTime() - now);
  return delay <= 0 ? 0 : Math.min(delay + slack, longestDelay);
}
