import { ExpressionOutage } from './error.js';
import { createFairQueue } from './fair-queue.js';
import { type Read, readOutput } from './read-answer.js';
import { type Program, startThread, type Thread, type ThreadTime, type Work } from './thread.js';

/** How many programs may wait. Later ones are rejected at once, so that the waiting time stays bounded. */
const MOST_WAITING = 1_000;

/** How many programs' costs are remembered. */
const MOST_KNOWN = 1_000;

interface Job {
  text: string;
  prepare(): Program;
  give(answer: Answered): void;
  refuse(error: unknown): void;
}

/** The result of a program, and the processor time that it used. */
interface Answered {
  read: Read;
  milliseconds: number;
}

export interface ThreadPool {
  /**
   * Runs a program when it is its owner's turn, and calls `prepare` then. `text` is the key under which the cost of the
   * program is remembered: between owners that have used the same time, the program that was quicker before runs first.
   * Rejects with the error of `prepare`, and with `ExpressionOutage` when too many wait, no thread can be started or
   * the pool is closed.
   */
  run(owner: string, text: string, prepare: () => Program): Promise<Answered>;
  close(): Promise<void>;
}

/**
 * Creates a pool that runs at most `size` programs at a time, each for at most `limit` milliseconds of processor time.
 */
export function createThreadPool({
  does,
  size,
  limit,
  time,
}: {
  does: Work;
  size: number;
  limit: number;
  /** How threads are timed; by default with the clocks and timers of the system. */
  time?: ThreadTime;
}): ThreadPool {
  const costs = new Map<string, number>();
  const queue = createFairQueue<Job>(limit, ({ text }) => costs.get(text) ?? 0);
  const idle: Thread[] = [];
  const all = new Set<Thread>();
  let module: object | undefined;
  let starting = 0;
  let running = 0;
  let closed = false;

  const closedError = () => new ExpressionOutage('the expression pool is closed');

  async function start(): Promise<Thread> {
    starting += 1;
    try {
      const thread = await startThread(does, module, time);
      module = thread.module;
      if (closed) {
        await thread.end();
        throw closedError();
      }
      all.add(thread);
      return thread;
    } catch (error) {
      if (error instanceof ExpressionOutage) throw error;
      throw new ExpressionOutage('no thread could be started for expressions', { cause: error });
    } finally {
      starting -= 1;
    }
  }

  /** Stops a thread, and starts another one in advance, so that no program waits for its start. */
  function replace(thread: Thread): void {
    all.delete(thread);
    void thread.end();
    if (closed || all.size + starting > size) return;
    start().then(
      (fresh) => idle.push(fresh),
      () => undefined,
    );
  }

  async function work(owner: string, job: Job): Promise<void> {
    let cost = 0;
    try {
      const program = job.prepare();
      const thread = idle.pop() ?? (await start());
      const { result, milliseconds, spoilt } = await thread.run(program, limit);
      cost = milliseconds;
      if (costs.size >= MOST_KNOWN) costs.clear();
      costs.set(job.text, cost);
      if (closed) throw closedError();
      const read = readOutput(result);
      if (spoilt || read.is === 'broken') replace(thread);
      else idle.push(thread);
      job.give({ read, milliseconds });
    } catch (error) {
      job.refuse(error);
    } finally {
      running -= 1;
      queue.charge(owner, cost);
      next();
    }
  }

  function next(): void {
    while (running < size) {
      const turn = queue.next();
      if (!turn) return;
      running += 1;
      void work(turn.owner, turn.item);
    }
  }

  return {
    run: (owner, text, prepare) =>
      new Promise((give, refuse) => {
        if (closed) return refuse(closedError());
        if (queue.size >= MOST_WAITING) return refuse(new ExpressionOutage('too many expressions are waiting'));
        queue.add(owner, { text, prepare, give, refuse });
        next();
      }),
    async close() {
      closed = true;
      for (const { refuse } of queue.clear()) refuse(closedError());
      await Promise.all([...all].map((thread) => thread.end()));
    },
  };
}
