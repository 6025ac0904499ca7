import type { Logger } from '@belay/core';
import postgres from 'postgres';

/*
 * Demo only. Part of the demo's story is "every worker was stopped", in any number of processes, and stopping them for
 * real would need the operator's hands. Nothing of this runs on a start with a configuration.
 *
 * Each worker process holds one advisory lock, shared, while its worker runs. Whoever wants all workers stopped says so
 * on a channel and takes the same lock exclusively: having it proves that none runs, in any process, and losing it,
 * also by being killed, lets them go on.
 */

/** Any numbers and names that nobody else uses in Belay's database. */
const workersLock = 7_235_309_131;
const channel = 'belay_demo_stop_workers';
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

function connect(url: string): postgres.Sql {
  // No timeouts, and no renewal of an old connection: it is the lock that counts, and the lock is the connection's.
  return postgres(url, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
  });
}

/** Runs a worker whenever nobody asks for all of them to be stopped. Resolves when it runs, or waits because somebody does. */
export async function startSwitchableWorker(
  options: SwitchOptions & { start(): Promise<StoppableWorker> },
): Promise<SwitchableWorker> {
  const ended = new AbortController();
  let asked = defer();
  const first = defer();
  const listener = connect(options.databaseUrl);
  await listener.listen(channel, () => asked.resolve());
  ended.signal.addEventListener('abort', () => asked.resolve());

  async function runOnce(sql: postgres.Sql): Promise<void> {
    // Waiting ends with the connection; later the lock has to outlive the worker, so nothing else may end it.
    const giveUp = () => void sql.end({ timeout: 0 });
    ended.signal.addEventListener('abort', giveUp, { once: true });
    await sql`select pg_advisory_lock_shared(${workersLock})`;
    ended.signal.removeEventListener('abort', giveUp);
    if (ended.signal.aborted) return;
    asked = defer();
    const worker = await options.start();
    first.resolve();
    try {
      await asked.promise;
    } finally {
      // In-flight work finishes before the lock is given back: the lock says that nothing runs.
      await worker.stop();
    }
    if (!ended.signal.aborted) options.log.info({}, 'The demo asked for every worker to stop');
  }

  const running = (async () => {
    while (!ended.signal.aborted) {
      const sql = connect(options.databaseUrl);
      try {
        await runOnce(sql);
      } catch (error) {
        if (ended.signal.aborted) break;
        first.reject(error);
        options.log.warn({ error }, 'The worker of the demo could not run; it is tried again');
        await options.delay(retry, ended.signal).catch(() => {});
      } finally {
        await sql.end({ timeout: 1 });
      }
    }
  })();
  // Somebody may hold the workers stopped at this very moment; a start does not wait for that.
  await Promise.race([first.promise, options.delay(retry)]);
  return {
    async stop() {
      ended.abort();
      await running;
      await listener.end({ timeout: 1 });
    },
  };
}

/** Stops every worker of the demo in every process, and answers when none runs; `release` lets them go on. */
export async function stopEveryWorker(
  options: SwitchOptions & { signal: AbortSignal },
): Promise<{ release(): Promise<void> }> {
  const holder = connect(options.databaseUrl);
  const speaker = connect(options.databaseUrl);
  try {
    let held = false;
    const taken = holder`select pg_advisory_lock(${workersLock})`.then(() => {
      held = true;
    });
    taken.catch(() => {});
    while (!held) {
      // Said again and again: a worker that starts between the first word and the lock has missed it.
      await speaker`select pg_notify(${channel}, '')`;
      await Promise.race([taken, options.delay(pause, options.signal)]);
    }
    return { release: () => holder.end({ timeout: 1 }) };
  } catch (error) {
    await holder.end({ timeout: 0 });
    throw error;
  } finally {
    await speaker.end({ timeout: 1 });
  }
}
