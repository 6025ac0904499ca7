import type { Context } from '@belay/core';
import { createAgenda } from './agenda.js';
import type { QueueBackend } from './backend.js';
import { type Bulkheads, createBulkheads, defaultPlaces, type Places } from './bulkheads.js';
import { type QueueName, queueNames, readJob } from './queues.js';
import { type StandByVerbs, startStandBy } from './stand-by.js';
import { type SweepVerbs, startSweeper } from './sweeper.js';
import { createWork, type WorkVerbs } from './work.js';

const defaultGrace = 25_000;

export interface WorkerOptions {
  context: Context;
  backend: QueueBackend;
  /** How much work runs at the same time; `defaultPlaces` when absent. */
  places?: Places;
  /** How often to look for due rows, in milliseconds; `context.timing.sweep` when absent. */
  sweepMilliseconds?: number;
  /** The verbs of core; replaced in the tests of this package. */
  verbs?: WorkVerbs & SweepVerbs & StandByVerbs;
}

export interface RunningWorker {
  /** Accepts no new work, gives running work `graceMilliseconds` to finish, and leaves the rest to leases. */
  stop(options?: { graceMilliseconds?: number }): Promise<void>;
  running(): boolean;
}

/**
 * Starts the worker of this process: its bulkheads, a receiver per queue and the sweeper. Does not wait for the queue to
 * be reachable.
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { context, backend, places = defaultPlaces, verbs } = options;
  const stopping = new AbortController();
  const agenda = createAgenda(context);
  const bulkheads: Bulkheads = createBulkheads({
    places,
    patience: context.timing.callPatience,
    log: context.log,
    clock: context.clock,
    delay: context.delay,
    onRoom: (bulkhead) => work.look(bulkhead),
  });
  const work = createWork(context, { bulkheads, agenda, verbs, stopping: stopping.signal });

  /**
   * Handles a job of the queue. Waits until a step is done, so that the queue gives further jobs to other workers when this one has no
   * free place. Does not wait for calls of providers.
   */
  async function receive(queue: QueueName, data: unknown): Promise<void> {
    const job = readJob(queue, data);
    if (job === null) return backend.deadLetters.note(queue, 'unreadable');
    const { dueAt, ...due } = job;
    if (dueAt !== undefined) return work.follow(due, dueAt);
    const done = work.take(due);
    if (queue === 'executions') await done;
  }

  const workers = queueNames.map((name) => backend.openWorker(name, (data) => receive(name, data), places.executions));
  backend.local = {
    reserve: bulkheads.reserve,
    hand: bulkheads.hand,
    isWanted: bulkheads.isWanted,
    take: (job) => work.take(job) !== undefined,
    follow: work.follow,
    sweepSoon: () => sweeper.soon(),
  };
  const interval = options.sweepMilliseconds ?? context.timing.sweep;
  const sweeper = startSweeper(context, { interval, agenda, plan: work.plan, isAway: backend.isAway, verbs });
  const standBy = startStandBy(context, { interval, verbs });
  let stopped: Promise<void> | null = null;

  async function stop(grace: number): Promise<void> {
    stopping.abort();
    agenda.close();
    bulkheads.close();
    const swept = Promise.all([sweeper.stop(), standBy.stop()]);
    await Promise.all(workers.map((worker) => worker.pause()));
    const over = new AbortController();
    const deadline = context.delay(grace, over.signal).then(
      () => 'late' as const,
      () => 'done' as const,
    );
    const within = (work: Promise<unknown>) => Promise.race([work.then(() => 'done' as const), deadline]);
    const finished = await within(Promise.all([swept, bulkheads.empty()]));
    if (finished === 'late')
      context.log.warn({ count: bulkheads.busy() }, 'stopped with work unfinished; another worker continues it');
    // Closing tells the queue which jobs are done; it is harmless when that fails.
    const closed = Promise.allSettled(workers.map((worker) => worker.close(finished === 'late')));
    await (finished === 'late' ? Promise.race([closed, context.delay(1_000)]) : within(closed));
    over.abort();
    backend.local = null;
  }

  return {
    stop(stopOptions = {}) {
      stopped ??= stop(stopOptions.graceMilliseconds ?? defaultGrace);
      return stopped;
    },
    running: () => stopped === null,
  };
}
