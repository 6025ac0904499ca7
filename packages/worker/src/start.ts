import type { Context } from '@belay/core';
import type { QueueBackend } from './backend.js';
import { createLanes, defaultPlaces, type Places } from './lanes.js';
import { createFollow, type HintVerbs } from './processors.js';
import { laneOf, type QueueName, queueNames, readHint } from './queues.js';
import { type StandByVerbs, startStandBy } from './stand-by.js';
import { type SweepVerbs, startSweeper } from './sweeper.js';

const defaultGrace = 25_000;

export interface WorkerOptions {
  context: Context;
  backend: QueueBackend;
  /** How many things are done at the same time; `defaultPlaces` when absent. */
  places?: Places;
  /** How often to look for due rows, in milliseconds; `context.timing.sweep` when absent. */
  sweepMilliseconds?: number;
  /** Give places to this process itself: what it sends hints of, and is due now, is done without the way through the queue. */
  local?: boolean;
  /** The verbs of core; others for the tests of this package. */
  verbs?: HintVerbs & SweepVerbs & StandByVerbs;
}

export interface RunningWorker {
  /** Takes nothing new, gives what is under way `graceMilliseconds` to finish, and leaves the rest to leases. */
  stop(options?: { graceMilliseconds?: number }): Promise<void>;
  running(): boolean;
}

/** Starts the worker of this process: a processor per queue and the sweeper. Does not wait for the queue to be there. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { context, backend, places = defaultPlaces, verbs } = options;
  const lanes = createLanes(context.log, places);
  const follow = createFollow(context, verbs);

  async function receive(queue: QueueName, data: unknown): Promise<void> {
    const hint = readHint(queue, data);
    if (hint === null) {
      context.log.warn({ queue }, 'a job without a readable id was dropped');
      return;
    }
    const place = await lanes.enter(laneOf(hint));
    // Without a place the worker has stopped; the row is due for another.
    if (place === null) return;
    await new Promise<void>((resolve) => place.run(() => follow(hint).finally(resolve)));
  }

  const concurrency: Record<QueueName, number> = { executions: places.executions, entitlements: places.provider };
  const workers = queueNames.map((name) => backend.openWorker(name, (data) => receive(name, data), concurrency[name]));
  if (options.local) {
    backend.local = {
      reserve: lanes.reserve,
      take(hint) {
        const place = lanes.reserve(laneOf(hint));
        place?.run(() => follow(hint));
        return place !== null;
      },
    };
  }
  const interval = options.sweepMilliseconds ?? context.timing.sweep;
  const sweeper = startSweeper(context, { interval, verbs });
  const standBy = startStandBy(context, { interval, verbs });
  let stopped: Promise<void> | null = null;

  async function stop(grace: number): Promise<void> {
    backend.local = null;
    lanes.close();
    const swept = Promise.all([sweeper.stop(), standBy.stop()]);
    await Promise.all(workers.map((worker) => worker.pause()));
    const over = new AbortController();
    const deadline = context.delay(grace, over.signal).then(
      () => 'late' as const,
      () => 'done' as const,
    );
    const within = (work: Promise<unknown>) => Promise.race([work.then(() => 'done' as const), deadline]);
    const finished = await within(Promise.all([swept, lanes.empty()]));
    if (finished === 'late') context.log.warn({ count: lanes.busy() }, 'work is left for another worker');
    // Closing tells the queue which jobs are done; when that does not work either, nothing depends on it.
    const closed = Promise.allSettled(workers.map((worker) => worker.close(finished === 'late')));
    await (finished === 'late' ? Promise.race([closed, context.delay(1_000)]) : within(closed));
    over.abort();
  }

  return {
    stop(stopOptions = {}) {
      stopped ??= stop(stopOptions.graceMilliseconds ?? defaultGrace);
      return stopped;
    },
    running: () => stopped === null,
  };
}
