import { type Turn, takeTurn } from '@belay/db';
import type { Logger } from '@belay/program';

/*
 * Demo only. The demo's story includes "every worker was stopped", in any number of processes. Without this code, the operator would have
 * to stop them manually. It does not run when the server starts with a configuration.
 *
 * Each worker process holds a shared turn while its worker runs, and checks whether another process waits for the exclusive turn. Holding
 * the exclusive turn proves that no worker runs in any process. When it is released, also because its process was killed, the workers
 * continue. Only Belay's own user can take or wait for the turn.
 */

const pause = 250;
const retry = 1_000;

export interface StoppableWorker {
  stop(): Promise<unknown>;
}

export interface SwitchableWorker {
  /** Stops the worker permanently. */
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
 * Runs a worker, except while all workers are stopped. Resolves when the worker runs, and after a second at the latest.
 * Rejects when the first start fails within that second, and then starts no worker again. A later failure is retried.
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
      // Running work finishes before the turn is released, because the turn proves that no worker runs.
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
  async function stop(): Promise<void> {
    ended.abort();
    await running;
  }

  try {
    // All workers may be stopped at this moment; a start does not wait until they continue.
    await Promise.race([first.promise, options.delay(retry)]);
  } catch (error) {
    // The caller closes what a worker needs.
    await stop();
    throw error;
  }
  return { stop };
}

/** Stops every worker of the demo in every process, and resolves when none runs; `release` lets them continue. */
export async function stopEveryWorker(
  options: SwitchOptions & { signal: AbortSignal },
): Promise<{ release(): Promise<void> }> {
  return await takeTurn(options.databaseUrl, 'demo_workers', { signal: options.signal });
}
