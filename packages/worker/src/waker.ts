import { setTimeout as wait } from 'node:timers/promises';
import type { Hint, Logger, Waker } from '@belay/core';
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

interface Lane {
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
): Waker & { close(): Promise<void> } {
  const now = options.now ?? (() => performance.timeOrigin + performance.now());
  const lanes = new Map<QueueName, Lane>();
  for (const name of queueNames) lanes.set(name, { name, queue: backend.openQueue(name), pending: [], sending: null });
  let closed = false;
  let scheduled = false;

  function accept(hint: Hint): void {
    const lane = lanes.get(hint.queue);
    if (lane === undefined) return;
    const payload = payloadOf(hint);
    const delay = hint.dueAt === undefined ? 0 : delayUntil(hint.dueAt, now());
    if (delay === 0 && backend.local?.(lane.name, payload)) return;
    if (lane.pending.length < mostPending) lane.pending.push({ payload, delay });
  }

  function flush(lane: Lane): void {
    if (lane.sending !== null || lane.pending.length === 0) return;
    const jobs = lane.pending.splice(0, mostAtOnce);
    lane.sending = lane.queue
      .add(jobs)
      .catch((error: unknown) => log.debug({ error, count: jobs.length }, `hints for ${lane.name} were dropped`))
      .then(() => {
        lane.sending = null;
        flush(lane);
      });
  }

  async function drain(lane: Lane): Promise<void> {
    flush(lane);
    while (lane.sending !== null) await lane.sending;
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
        for (const lane of lanes.values()) flush(lane);
      });
    },
    async close() {
      closed = true;
      await Promise.all(
        [...lanes.values()].map(async (lane) => {
          await Promise.race([drain(lane), wait(longestClose, undefined, { ref: false })]);
          lane.pending.length = 0;
          await lane.queue.close();
        }),
      );
    },
  };
}

function delayUntil(dueAt: Date, now: number): number {
  const delay = Math.ceil(dueAt.getTime() - now);
  return delay <= 0 ? 0 : Math.min(delay + slack, longestDelay);
}
