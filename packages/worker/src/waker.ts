import { setTimeout as wait } from 'node:timers/promises';
import { type Hint, type Logger, timing, type Waker } from '@belay/core';
import type { HintQueue, QueueBackend } from './backend.js';
import { type Payload, payloadOf, type QueueName, queueNames } from './queues.js';

/** How many hints of a queue may wait to be sent; further ones are dropped, because the sweeper finds their work. */
const mostPending = 10_000;
const mostAtOnce = 500;
/** How long closing waits for hints that are still being sent, in milliseconds. */
const longestClose = 1_000;

interface Outbox {
  name: QueueName;
  queue: HintQueue;
  pending: Payload[];
  sending: Promise<void> | null;
}

/**
 * Creates core's Waker on a queue backend. `wake` returns immediately and never throws; the hints of one tick are sent
 * together, and hints that arrive during a send wait for the next one. Hints that cannot be sent are dropped. A hint
 * that is due later is kept by a timer, of the worker in this process or of the one that receives it. A hint that is
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

  function accept(hint: Hint): void {
    const outbox = outboxes.get(hint.queue);
    if (outbox === undefined) return;
    const { dueAt, ...due } = hint;
    if (dueAt !== undefined && dueAt.getTime() - now() > lookAhead) return;
    // The worker compares it with the database's clock.
    if (dueAt !== undefined && backend.local) backend.local.follow(due, dueAt);
    else if (dueAt === undefined && backend.local?.take(due)) return;
    else if (outbox.pending.length < mostPending) outbox.pending.push(payloadOf(hint));
  }

  function flush(outbox: Outbox): void {
    if (outbox.sending !== null || outbox.pending.length === 0) return;
    const jobs = outbox.pending.splice(0, mostAtOnce);
    outbox.sending = outbox.queue
      .add(jobs)
      .catch((error: unknown) =>
        log.debug({ error, count: jobs.length }, `hints for ${outbox.name} were dropped; the sweeper finds the work`),
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
    wake(hints) {
      if (closed || hints.length === 0) return;
      try {
        for (const hint of hints) accept(hint);
      } catch (error) {
        log.debug({ error }, 'hints were dropped; the sweeper finds the work');
      }
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        for (const outbox of outboxes.values()) flush(outbox);
      });
    },
    reserve: (lane) => (closed ? null : (backend.local?.reserve(lane) ?? null)),
    hand(lane, work) {
      if (backend.local) backend.local.hand(lane, work);
      else void work(true).catch((error: unknown) => log.error({ error }, 'work failed; the sweeper repeats it'));
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
