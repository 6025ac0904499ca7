import { type Turn, takeTurn } from '@belay/db';
import type { Logger } from '@belay/program';

/*
 * Demo only. Part of the demo's story is "every worker was stopped", in any number of processes, and stopping them for
 * real would need the operator's hands. Nothing of this runs on a start with a configuration.
 *
 * Each worker process shares one turn while its worker runs, and checks whether another process waits to have it alone. That is how
 * all workers are stopped: having the turn proves that none runs, in any process, and losing it, also by being killed,
 * lets them go on. Only Belay's own user can take or wait for the turn.
 */

const pause = 250;
const retry = 1_000;

export interface StoppableWorker {
  stop(): Promise<unknown>;
}

export interface SwitchableWorker {
  /** Stops for good. */
  stop(): Promise<void>;
}

interface Deferred {
  promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

function defer(): Deferred {
  let resolve = () => {};
  let reject = (_error: unknown) => {};
  const promise = new Promise<void>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

export interface SwitchOptions {
  databaseUrl: string;
  log: Logger;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Runs a worker, except while a person has all workers stopped. Resolves when it runs, or when it waits for that to
 * end.
 */
export async function startSwitchableWorker(
  options: SwitchOptions & { start(): Promise<StoppableWorker> },
): Promise<SwitchableWorker> {
  const ended = new AbortController();
  const first = defer();

  async function runOnce(turn: Turn): Promise<void> {
    const worker = await options.start();
    first.resolve();
    try {
      while (!ended.signal.aborted && !(await turn.isWanted()))
        await options.delay(pause, ended.signal).catch(() => {});
    } finally {
      // In-flight work finishes before the turn is given back: the turn says that nothing runs.
      await worker.stop();
    }
    if (!ended.signal.aborted) options.log.info({}, 'the demo stopped every worker');
  }

  const running = (async () => {
    while (!ended.signal.aborted) {
      let turn: Turn | undefined;
      try {
        turn = await takeTurn(options.databaseUrl, 'demo_workers', { shared: true, signal: ended.signal });
        await runOnce(turn);
      } catch (error) {
        if (ended.signal.aborted) break;
        first.reject(error);
        options.log.warn({ error }, 'the worker of the demo failed; retrying');
        await options.delay(retry, ended.signal).catch(() => {});
      } finally {
        await turn?.release();
      }
    }
  })();
  // A person may have the workers stopped at this moment; a start does not wait for that.
  await Promise.race([first.promise, options.delay(retry)]);
  return {
    async stop() {
      ended.abort();
      await running;
    },
  };
}

/** Stops every worker of the demo in every process, and answers when none runs; `release` lets them go on. */
export async function stopEveryWorker(
  options: SwitchOptions & { signal: AbortSignal },
): Promise<{ release(): Promise<void> }> {
  return await takeTurn(options.databaseUrl, 'demo_workers', { signal: options.signal });
}
