/** A generator of random numbers that are the same for the same seed. */
export interface Random {
  /** Returns a number that is at least 0 and below 1. */
  next(): number;
  /** Returns an integer; both ends are included. */
  between(lowest: number, highest: number): number;
  pick<T>(items: readonly T[]): T;
  /** Returns a new list in another order. */
  shuffle<T>(items: readonly T[]): T[];
  /** Returns an independent generator: its use does not change the numbers of any other. */
  fork(name: string): Random;
}

/** Returns a generator of random numbers (Mulberry32): good enough to vary a run, and the same on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (lowest: number, highest: number) => lowest + Math.floor(next() * (highest - lowest + 1));
  return {
    next,
    between,
    pick: <T>(items: readonly T[]) => {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error('There is nothing to pick from');
      return item;
    },
    shuffle: <T>(items: readonly T[]) => {
      const left = [...items];
      return items.map(() => left.splice(between(0, left.length - 1), 1)[0] as T);
    },
    fork: (name) => {
      let hash = seed >>> 0;
      for (const character of name) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
      return createRandom(hash);
    },
  };
}
