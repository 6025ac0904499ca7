import type { Context } from '@belay/core';
import type { Process, QueueBackend } from './backend.js';
import { localLane } from './local.js';
import { createProcessors, type HintVerbs } from './processors.js';
import { type QueueName, queueNames } from './queues.js';
import { type StandByVerbs, startStandBy } from './stand-by.js';
import { type SweepVerbs, startSweeper } from './sweeper.js';

const defaultGrace = 25_000;

export interface WorkerOptions {
  context: Context;
  backend: QueueBackend;
  /** How many hints of a kind are followed at the same time. Calls mostly wait, so it may exceed the cores. */
  concurrency?: { executions: number; entitlements: number };
  /** How often to look for due rows, in milliseconds; `context.timing.sweep` when absent. */
  sweepMilliseconds?: number;
  /** Take hints that this process sends, and that are due now, without the way through the queue. */
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
  const { context, backend, concurrency = { executions: 16, entitlements: 8 }, verbs } = options;
  const inFlight = new Set<Promise<void>>();
  const track =
    (process: Process): Process =>
    (data) => {
      const work = process(data).finally(() => inFlight.delete(work));
      inFlight.add(work);
      return work;
    };
  const plain = createProcessors(context, verbs);
  const processors: Record<QueueName, Process> = {
    executions: track(plain.executions),
    entitlements: track(plain.entitlements),
  };
  const workers = queueNames.map((name) => backend.openWorker(name, processors[name], concurrency[name]));
  if (options.local) backend.local = localLane(processors, concurrency);
  const interval = options.sweepMilliseconds ?? context.timing.sweep;
  const sweeper = startSweeper(context, { interval, verbs });
  const standBy = startStandBy(context, { interval, verbs });
  let stopped: Promise<void> | null = null;

  async function stop(grace: number): Promise<void> {
    backend.local = null;
    const swept = Promise.all([sweeper.stop(), standBy.stop()]);
    await Promise.all(workers.map((worker) => worker.pause()));
    const over = new AbortController();
    const deadline = context.delay(grace, over.signal).then(
      () => 'late' as const,
      () => 'done' as const,
    );
    const within = (work: Promise<unknown>) => Promise.race([work.then(() => 'done' as const), deadline]);
    const finished = await within(Promise.all([swept, ...inFlight]));
    if (finished === 'late') context.log.warn({ count: inFlight.size }, 'work is left for another worker');
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
