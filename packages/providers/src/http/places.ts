import { refuseWhenAborted, untilAborted } from '../abort.js';

/** Room for so many calls at once; the others wait in their order. */
export interface Places {
  /** Runs `work` as soon as there is room. Throws `Retryable` when the signal says stop before that. */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createPlaces(most: number): Places {
  let free = most;
  const waiting: (() => void)[] = [];

  async function enter(signal: AbortSignal): Promise<void> {
    refuseWhenAborted(signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    let admit = () => {};
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    waiting.push(admit);
    try {
      await untilAborted(admitted, signal);
    } catch (error) {
      const index = waiting.indexOf(admit);
      // Admitted at the moment of the abort: the place goes on to the next one.
      if (index === -1) leave();
      else waiting.splice(index, 1);
      throw error;
    }
  }

  function leave(): void {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }

  return {
    async take(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
