import { Worker } from 'node:worker_threads';
import { openThreadClock } from './thread-clock.js';

/** The kind of work of a thread. */
export type Work = 'jq' | 'schemas';

const WORKERS = {
  jq: new URL('./jq-worker.js', import.meta.url),
  schemas: new URL('./schema-worker.js', import.meta.url),
};

/**
 * A program of jq with its input, or a JSON Schema with a value (with an empty text instead, the schema is only
 * compiled). `raises`: whether the program may call `error`.
 */
export interface Program {
  program: string;
  input: string;
  raises: boolean;
}

/** The result of one program. `timeout` and `starved` come from the watch of its thread, the others from the thread. */
export type Result =
  | { is: 'output'; text: string }
  | { is: 'failed'; exitCode: number; message: string; own: boolean }
  | { is: 'exceeded'; what: 'memory' | 'output' }
  | { is: 'broken' }
  | { is: 'timeout' }
  | { is: 'starved' };

/** A result, the processor time that the thread used for it, and whether the thread must not be used again. */
export interface Answer {
  result: Result;
  milliseconds: number;
  spoilt: boolean;
}

/** One worker thread. It runs one program at a time, and keeps the process alive only while it does. */
export interface Thread {
  /** jq as compiled by this thread, for other threads that run jq. */
  module: object;
  /** Runs a program for at most `limit` milliseconds of processor time. */
  run(program: Program, limit: number): Promise<Answer>;
  end(): Promise<void>;
}

interface Ready {
  is: 'ready';
  thread: number | null;
  module: object;
}
type Finished = Result & { milliseconds: number; worn: boolean };

/** How a thread is timed. */
export interface ThreadTime {
  /** Returns the clock of the processor time of a thread, by the system's id of the thread. */
  openClock(thread: number | null): ReturnType<typeof openThreadClock>;
  /** Calls `look` after so many milliseconds, unless the returned function is called before. */
  after(milliseconds: number, look: () => void): () => void;
}

const realTime: ThreadTime = {
  openClock: openThreadClock,
  after(milliseconds, look) {
    const timer = setTimeout(look, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** How many times its limit a program may take in elapsed time, on a machine so busy that its thread hardly runs. */
const PATIENCE = 100;
const SHORTEST_LOOK = 5;

/**
 * Starts a thread; resolves when it has loaded its code, so that loading never counts as the time of a program. Rejects
 * when the thread cannot be started.
 */
export async function startThread(does: Work, module?: object, time: ThreadTime = realTime): Promise<Thread> {
  const worker = new Worker(WORKERS[does], {
    // jq must not see the environment, and its output must not reach the process.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
    workerData: { module },
  });
  let receive: ((message: Ready | Finished | null) => void) | null = null;
  const settle = (message: Ready | Finished | null) => {
    worker.unref();
    receive?.(message);
    receive = null;
  };
  worker.on('message', settle);
  worker.on('error', () => settle(null));
  worker.on('exit', () => settle(null));

  const first = await new Promise<Ready | Finished | null>((resolve) => {
    receive = resolve;
  });
  if (first?.is !== 'ready') throw new Error('a thread could not be started');
  const clock = time.openClock(first.thread);

  return {
    module: first.module,
    run: (program, limit) =>
      new Promise((resolve) => {
        const watch = watchThread({ clock, limit, after: time.after }, (is, milliseconds) => {
          receive = null;
          worker.unref();
          resolve({ result: { is }, milliseconds, spoilt: true });
        });
        receive = (message) => {
          const milliseconds = watch.end();
          if (message === null || message.is === 'ready') {
            resolve({ result: { is: 'broken' }, milliseconds, spoilt: true });
          } else {
            const { milliseconds: own, worn, ...result } = message;
            const spoilt = worn || result.is === 'broken' || result.is === 'exceeded';
            resolve({ result, milliseconds: own, spoilt });
          }
        };
        worker.ref();
        worker.postMessage(program);
      }),
    end: async () => {
      clock.close();
      await worker.terminate();
    },
  };
}

/**
 * Calls `stop` when a thread has used `limit` milliseconds of processor time, or when it did not get them within a
 * much longer time. Where the system cannot tell how much a thread has used, elapsed time counts.
 */
function watchThread(
  { clock, limit, after }: { clock: ReturnType<typeof openThreadClock>; limit: number; after: ThreadTime['after'] },
  stop: (is: 'timeout' | 'starved', milliseconds: number) => void,
): { end(): number } {
  const before = clock();
  let waited = 0;
  let cancel: () => void;
  const used = () => (clock.exact ? clock() - before : waited);
  const look = () => {
    const milliseconds = used();
    if (milliseconds >= limit) stop('timeout', milliseconds);
    else if (waited >= limit * PATIENCE) stop('starved', milliseconds);
    else wait(Math.max(SHORTEST_LOOK, limit - milliseconds));
  };
  const wait = (milliseconds: number) => {
    waited += milliseconds;
    cancel = after(milliseconds, look);
  };
  wait(limit);
  return {
    end() {
      cancel();
      return used();
    },
  };
}
