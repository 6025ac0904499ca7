import postgres from 'postgres';

/** How many groups are on their way: one that waits for a lock, or for a connection that is lost, does not stop the others. */
const atOnce = 2;
/** How many items a group has at most. */
const most = 50;
/** The SQLSTATE of a lock that was not available in time. */
const lockNotAvailable = '55P03';

interface Waiting<T, R> {
  item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** Does the work of a group. `hurried`: it waits for a lock shortly, because others wait for it. */
type Work<T, R> = (group: readonly [T, ...T[]], hurried: boolean) => Promise<readonly R[]>;

/**
 * Returns a function that passes items to `work` in groups, so that many share one statement and one commit: those that
 * arrive in one turn of the event loop, and those that arrive while two groups are on their way. Its first argument
 * says who shares, such as a pool of connections. `work` returns a result for each item, in their order. Items with a
 * key in common are never in one group.
 *
 * When the database rejects the statement of a group, it wrote nothing, and each item is tried alone: shortly at first,
 * so that the one that is locked takes no connection from the others. A lost connection is the error of all of them,
 * because it is unknown what was committed.
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
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || running === atOnce) return;
    scheduled = true;
    // After the responses that have arrived in this turn of the event loop: what they lead to belongs together.
    setImmediate(begin);
  }

  function begin(): void {
    scheduled = false;
    const [first, ...others] = take();
    if (!first) return;
    running += 1;
    void settle([first, ...others]).finally(() => {
      running -= 1;
      schedule();
    });
    schedule();
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

  async function settle(
    group: readonly [Waiting<T, R>, ...Waiting<T, R>[]],
    hurried = group.length > 1,
  ): Promise<void> {
    const [first, ...others] = group;
    try {
      const results = await work([first.item, ...others.map(({ item }) => item)], hurried);
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
    } catch (error) {
      if (!(hurried && error instanceof postgres.PostgresError)) for (const { reject } of group) reject(error);
      else if (others.length > 0) await Promise.all(group.map((one) => settle([one], true)));
      else if (error.code === lockNotAvailable) await settle([first], false);
      else first.reject(error);
    }
  }

  return (item) =>
    new Promise<R>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
