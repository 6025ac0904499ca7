/** A queue that serves first the owner whose items have cost least. */
export interface FairQueue<T> {
  readonly size: number;
  add(owner: string, item: T): void;
  next(): { owner: string; item: T } | undefined;
  /** Records the cost of an item of this owner. */
  charge(owner: string, cost: number): void;
  clear(): T[];
}

interface Share<T> {
  /** What this owner's items have cost. Raised after idle time, so that the owner is at most `credit` ahead of the others. */
  had: number;
  items: T[];
  underWay: number;
}

/** How many owners are remembered. Only idle owners are forgotten. */
const REMEMBERED = 1_000;

/**
 * Creates a queue that takes turns between owners by the cost of their items (start-time fair queueing): the next item
 * belongs to the owner whose items have cost least; owners with equal cost take turns. A new or idle owner is ahead of
 * busy owners by at most `credit`, so its first item does not wait for their waiting items. The expected cost of an item counts
 * before it is served, so of several new owners those with small items go first.
 */
export function createFairQueue<T>(credit: number, expectedCost: (item: T) => number): FairQueue<T> {
  const shares = new Map<string, Share<T>>();
  let size = 0;
  let reached = 0;

  /** Forgets idle owners, starting with the owner that was served longest ago. */
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
      // The owner moves to the end, so that owners with equal cost take turns.
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
