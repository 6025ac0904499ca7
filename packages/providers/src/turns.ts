import { refuseWhenAborted, untilAborted } from './abort.js';

/** Limits how many calls run at once; the others wait in order, those that are ahead first. */
export interface Places {
  /**
   * Runs `work` as soon as a place is free; with `ahead` before all work without it. Throws `Retryable` when the signal aborts before
   * that.
   */
  take<T>(signal: AbortSignal, work: () => Promise<T>, ahead?: boolean): Promise<T>;
}

/** Creates places for `most` calls at a time. */
export function createPlaces(most: number): Places {
  let free = most;
  const waiting: { ahead: (() => void)[]; others: (() => void)[] } = { ahead: [], others: [] };

  async function enter(signal: AbortSignal, ahead: boolean): Promise<void> {
    refuseWhenAborted(signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    let admit = () => {};
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const queue = ahead ? waiting.ahead : waiting.others;
    queue.push(admit);
    try {
      await untilAborted(admitted, signal);
    } catch (error) {
      const index = queue.indexOf(admit);
      // Admitted at the moment of the abort: the place is passed on to the next call.
      if (index === -1) leave();
      else queue.splice(index, 1);
      throw error;
    }
  }

  function leave(): void {
    const next = waiting.ahead.shift() ?? waiting.others.shift();
    if (next) next();
    else free += 1;
  }

  return {
    async take(signal, work, ahead = false) {
      await enter(signal, ahead);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

/** Runs `work` after all earlier work with the same key. Throws `Retryable` when the signal aborts before that. */
export type InTurn = <T>(key: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** Creates turns for any number of keys. Only keys with work are kept. */
export function createTurns(): InTurn {
  const turns = new Map<string, { places: Places; users: number }>();
  return async (key, signal, work) => {
    const turn = turns.get(key) ?? { places: createPlaces(1), users: 0 };
    turns.set(key, turn);
    turn.users += 1;
    try {
      return await turn.places.take(signal, work);
    } finally {
      turn.users -= 1;
      if (turn.users === 0) turns.delete(key);
    }
  };
}
