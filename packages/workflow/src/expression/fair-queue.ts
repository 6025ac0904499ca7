/** A queue that serves first the owners who have had least. */
export interface FairQueue<T> {
  readonly size: number;
  add(owner: string, item: T): void;
  next(): { owner: string; item: T } | undefined;
  /** Records the cost of an item of this owner. */
  charge(owner: string, cost: number): void;
  clear(): T[];
}

interface Share<T> {
  /** The cost of this owner, as if it had always waited for something. */
  had: number;
  items: T[];
  underWay: number;
}

/** How many owners are remembered, apart from those that wait. */
const REMEMBERED = 1_000;

/**
 * Creates a queue that takes turns between owners by the cost of their items (start-time fair queueing): the next item
 * belongs to the owner who has had least; owners with equal cost take turns. An owner that was idle is ahead of busy
 * ones by `credit` at most, so an item of a newcomer waits for none of theirs. The expected cost of an item counts
 * before it is served, so of several newcomers those with small items go first.
 */
export function createFairQueue<T>(credit: number, expectedCost: (item: T) => number): FairQueue<T> {
  const shares = new Map<string, Share<T>>();
  let size = 0;
  let reached = 0;

  /** Forgets owners that wait for nothing, starting with the one that was served longest ago. */
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
      // Among owners with equal cost, the one that was not served last goes first.
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
