import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Done, Order } from './serve.js';

/** A contender in its own process. */
export interface Runner {
  /** Performs elevations. Rejects when the process ends meanwhile. */
  run(order: Order): Promise<Done>;
  stop(): Promise<void>;
}

/** Starts the program of a contender on a database; resolves when it is ready for orders. */
export async function startRunner(file: string, url: string, people: number): Promise<Runner> {
  const child = fork(file, [url, String(people)], { env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR } });
  await answerOf(child);
  return {
    run(order) {
      const done = answerOf(child) as Promise<Done>;
      child.send(order);
      return done;
    },
    async stop() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

/** Returns the next message of a program; rejects when the program ends instead. */
export async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const [answer] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => Promise.reject(new Error('A program that is measured has ended'))),
    ]);
    return answer;
  } finally {
    over.abort();
  }
}
