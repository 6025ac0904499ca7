/**
 * Returns a function that hands items to `write` in groups: the first at once, those that come while it is being written
 * together when it is done. Each caller gets the result of its group, or what it threw.
 */
export function inGroups<T, R>(write: (group: readonly T[]) => Promise<R>): (item: T) => Promise<R> {
  let waiting: T[] = [];
  let next: Promise<R> | null = null;
  let writing: Promise<unknown> = Promise.resolve();
  const begin = () => {
    const group = waiting;
    waiting = [];
    next = null;
    const written = write(group);
    writing = written.catch(() => undefined);
    return written;
  };
  return (item) => {
    waiting.push(item);
    next ??= writing.then(begin);
    return next;
  };
}
