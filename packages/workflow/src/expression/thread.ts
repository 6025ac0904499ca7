import { Worker } from 'node:worker_threads';

/** What the worker says about one program; `timeout` and `broken` mean that the thread is gone. Times are its thread's. */
export type Answer =
  | { is: 'output'; text: string; milliseconds: number }
  | { is: 'failed'; exitCode: number; message: string; milliseconds: number }
  | { is: 'broken' }
  | { is: 'timeout' };

/** One worker thread with jq in it. It runs one program at a time and keeps the process alive only meanwhile. */
export interface Thread {
  run(program: string, input: string, timeoutMilliseconds: number): Promise<Answer>;
  end(): Promise<void>;
}

/** Starts a thread; resolves when jq is loaded in it, so that loading never counts as a program's time. */
export async function startThread(): Promise<Thread> {
  const worker = new Worker(new URL('./jq-worker.js', import.meta.url), {
    // jq must not see the environment, and what it prints is nobody's business.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  let answer: ((answer: Answer | { is: 'ready' }) => void) | null = null;
  let timer: NodeJS.Timeout | undefined;

  const settle = (value: Answer | { is: 'ready' }) => {
    clearTimeout(timer);
    worker.unref();
    answer?.(value);
    answer = null;
  };
  worker.on('message', settle);
  worker.on('error', () => settle({ is: 'broken' }));
  worker.on('exit', () => settle({ is: 'broken' }));

  const first = await new Promise<Answer | { is: 'ready' }>((resolve) => {
    answer = resolve;
  });
  if (first.is !== 'ready') throw new Error('jq could not be started in a thread');

  return {
    run: (program, input, timeoutMilliseconds) =>
      new Promise((resolve, reject) => {
        answer = (value) => (value.is === 'ready' ? reject(new Error('jq started twice')) : resolve(value));
        worker.ref();
        timer = setTimeout(() => settle({ is: 'timeout' }), timeoutMilliseconds);
        worker.postMessage({ program, input });
      }),
    end: async () => {
      await worker.terminate();
    },
  };
}
