import type { Env } from '../types.js';

/** Milliseconds after which a turn lets the event loop do something else. */
const SLICE = 10;

/**
 * Gives an `Env` what bounds a turn of an execution: `pause` says true once the turn has taken `limit` milliseconds of
 * processor time, that of the jq threads included, and hands the event loop to others every few milliseconds meanwhile.
 * What a turn waits for does not count. `clock` is any clock that never goes back, in milliseconds.
 */
export function measureTurn(options: {
  evaluate: Env['evaluate'];
  limit: number;
  clock: () => number;
}): Required<Pick<Env, 'evaluate' | 'pause' | 'spend'>> {
  const { evaluate, limit, clock } = options;
  let spent = 0;
  let since = clock();

  /** Waits for something without counting the time. */
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
