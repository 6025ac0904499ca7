/** A queue in which those who have had less go first. */
export interface FairQueue<T> {
  readonly size: number;
  add(owner: string, item: T): void;
  next(): { owner: string; item: T } | undefined;
  /** Says what an item of this owner has cost. */
  charge(owner: string, cost: number): void;
  clear(): T[];
}

interface Share<T> {
  /** What this owner has had, as if it had wanted something all along. */
  had: number;
  items: T[];
  underWay: number;
}

/** How many owners are remembered, apart from those that want something. */
const REMEMBERED = 1_000;

/**
 * Takes turns between owners by what their items cost (start-time fair queueing): the next item is that of the owner who
 * has had least, and owners who have had the same take turns. Who asks for nothing for a while is ahead of
 * those who ask all the time by `credit` at most, so an item of a newcomer waits for none of theirs. What an item is
 * expected to cost counts before it is served, so of several newcomers those that want little go first.
 */
export function createFairQueue<T>(credit: number, expectedCost: (item: T) => number): FairQueue<T> {
  const shares = new Map<string, Share<T>>();
  let size = 0;
  let reached = 0;

  /** Forgets owners that want nothing now, those that were served longest ago first. */
  const forget = () => {
    for (const [owner, { items, underWay }] of shares) {
      if (shares.size < REMEMBERED) return;
      if (items.length === 0 && underWay === 0) shares.delete(owner);
    }
  };

  return {
    get size() {
      return size;
    },
    add(owner, item) {
      let share = shares.get(owner);
      if (!share) {
        forget();
        share = { had: reached - credit, items: [], underWay: 0 };
        shares.set(owner, share);
      }
      if (share.items.length === 0 && share.underWay === 0) share.had = Math.max(share.had, reached - credit);
      share.items.push(item);
      size += 1;
    },
    next() {
      let least: [string, Share<T>] | undefined;
      let lowest = Number.POSITIVE_INFINITY;
      for (const entry of shares) {
        const [first] = entry[1].items;
        const would = first === undefined ? lowest : entry[1].had + expectedCost(first);
        if (would >= lowest) continue;
        least = entry;
        lowest = would;
      }
      if (!least) return undefined;
      const [owner, share] = least;
      const [item] = share.items.splice(0, 1) as [T];
      size -= 1;
      share.underWay += 1;
      reached = Math.max(reached, share.had);
      // Of those who have had the same, the one that was not served goes first.
      shares.delete(owner);
      shares.set(owner, share);
      return { owner, item };
    },
    charge(owner, cost) {
      const share = shares.get(owner);
      if (!share) return;
      share.underWay -= 1;
      share.had += cost;
    },
    clear() {
      const items = [...shares.values()].flatMap((share) => share.items);
      shares.clear();
      size = 0;
      return items;
    },
  };
}
