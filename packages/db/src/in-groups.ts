import postgres from 'postgres';

/** How many groups are in progress before further items wait for the end of one. */
const atOnce = 2;
/** After how many milliseconds no item waits for a group that is still in progress. */
const stall = 500;
/** How many items a group has at most. */
const most = 25;
/** How many items of a rejected group are tried at the same time, so that they take no connections from others. */
const aloneAtOnce = 4;
/** The SQLSTATE of a lock that was not available in time. */
const lockNotAvailable = '55P03';
/** SQLSTATEs of a server that cannot run statements now: trying each item alone would only add to its work. */
const servesNothing = /^(08|53|57P|58)/;

interface Waiting<T, R> {
  item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

type Group<T> = readonly [T, ...T[]];

/** Does the work of a group. With `hurried` it waits only briefly for a lock, because other callers wait for it. */
type Work<T, R> = (group: Group<T>, hurried: boolean) => Promise<readonly R[]>;

/**
 * Returns a function that passes items to `work` in groups, so that many items share one statement and one commit: the
 * items that arrive in one turn of the event loop, and those that arrive while two groups are in progress. While a
 * group takes longer than half a second, because of a lock or a lost connection, no item waits for a group. Only items
 * with the same first argument, such as a pool of connections, share a group. `work` returns a result for each item, in
 * the order of the items. Items with a key in common are never in one group. When the database rejects the statement of
 * a group, it has written nothing, and each item is tried alone. The first try of an item alone is hurried too, so that
 * an item whose row is locked does not delay the others. A lost connection is the error of all items, because it is
 * unknown what was committed.
 */
export function inGroups<T, R>(
  work: Work<T, R>,
  keysOf: (item: T) => readonly string[] = () => [],
): (sharing: object, item: T) => Promise<R> {
  const known = new WeakMap<object, (item: T) => Promise<R>>();
  return (sharing, item) => {
    const group = known.get(sharing) ?? grouping(work, keysOf);
    known.set(sharing, group);
    return group(item);
  };
}

function grouping<T, R>(work: Work<T, R>, keysOf: (item: T) => readonly string[]): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = [];
  let running = 0;
  let stalled = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || (running >= atOnce && stalled === 0)) return;
    scheduled = true;
    // After the responses that have arrived in this turn of the event loop, so that the items that they cause share a group.
    setImmediate(() => {
      scheduled = false;
      const [first, ...others] = take();
      if (first) void run([first, ...others]);
      schedule();
    });
  }

  /** Takes the next group from those that wait. */
  function take(): Waiting<T, R>[] {
    const taken = new Set<string>();
    const group: Waiting<T, R>[] = [];
    const left: Waiting<T, R>[] = [];
    for (const one of waiting) {
      const keys = keysOf(one.item);
      const fits = group.length < most && !keys.some((key) => taken.has(key));
      (fits ? group : left).push(one);
      if (fits) for (const key of keys) taken.add(key);
    }
    waiting = left;
    return group;
  }

  /**
   * Does the work of a group. When the database rejects it, the items are tried alone after the group has ended, so that no other
   * group waits for them.
   */
  async function run(group: Group<Waiting<T, R>>): Promise<void> {
    const hurried = group.length > 1;
    let isStalled = false;
    running += 1;
    const slow = setTimeout(() => {
      isStalled = true;
      stalled += 1;
      schedule();
    }, stall);
    const error = await settle(group, hurried);
    clearTimeout(slow);
    running -= 1;
    if (isStalled) stalled -= 1;
    schedule();
    if (error === null) return;
    if (hurried && isRejection(error.cause)) await tryAlone(group);
    else for (const { reject } of group) reject(error.cause);
  }

  /** Resolves the items of a group, or returns the error of the work. */
  async function settle(group: Group<Waiting<T, R>>, hurried: boolean): Promise<{ cause: unknown } | null> {
    const [first, ...others] = group;
    try {
      const results = await work([first.item, ...others.map(({ item }) => item)], hurried);
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
      return null;
    } catch (cause) {
      return { cause };
    }
  }

  async function tryAlone(group: readonly Waiting<T, R>[]): Promise<void> {
    const left = [...group];
    const next = async () => {
      for (let one = left.shift(); one; one = left.shift()) {
        const error = await settle([one], true);
        if (error === null) continue;
        if (isRejection(error.cause) && error.cause.code === lockNotAvailable) void tryPatiently(one);
        else one.reject(error.cause);
      }
    };
    await Promise.all(Array.from({ length: aloneAtOnce }, next));
  }

  async function tryPatiently(one: Waiting<T, R>): Promise<void> {
    const error = await settle([one], false);
    if (error) one.reject(error.cause);
  }

  return (item) =>
    new Promise<R>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}

/** Returns whether an available database rejected a statement; the statement then wrote nothing. */
function isRejection(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && !servesNothing.test(error.code);
}
