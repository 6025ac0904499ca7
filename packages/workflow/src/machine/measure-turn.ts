import type { Env } from '../types.js';

/** Milliseconds after which a turn yields to the event loop. */
const SLICE = 10;

/**
 * Adds the limits of a turn to an `Env`: `pause` returns true when the turn has used `limit` milliseconds of processor
 * time, including that of the jq threads, and yields to the event loop every few milliseconds. Waiting does not count.
 * `clock` is any monotonic clock, in milliseconds.
 */
export function measureTurn(options: {
  evaluate: Env['evaluate'];
  limit: number;
  clock: () => number;
}): Required<Pick<Env, 'evaluate' | 'pause' | 'spend'>> {
  const { evaluate, limit, clock } = options;
  let spent = 0;
  let since = clock();

  /** Waits for a promise without counting the time. */
  const rest = async <T>(wait: () => Promise<T>): Promise<T> => {
    spent += clock() - since;
    try {
      return await wait();
    } finally {
      since = clock();
    }
  };

  return {
    evaluate: (...call) => rest(() => evaluate(...call)),
    spend: (milliseconds) => {
      spent += milliseconds;
    },
    pause: async () => {
      if (clock() - since >= SLICE) await rest(() => new Promise((resolve) => setImmediate(resolve)));
      return spent + clock() - since >= limit;
    },
  };
}
