/** A set that stores when it was changed, so that an earlier state can be read, as from a replica that lags. */
export interface Timeline {
  add(key: string, at: number): void;
  remove(key: string, at: number): void;
  has(key: string, at: number): boolean;
  keys(at: number): string[];
}

export function createTimeline(): Timeline {
  const events = new Map<string, { at: number; present: boolean }[]>();
  const write = (key: string, at: number, present: boolean) => {
    const known = events.get(key) ?? [];
    events.set(key, known);
    known.push({ at, present });
  };
  const has = (key: string, at: number) => events.get(key)?.findLast((one) => one.at <= at)?.present === true;
  return {
    add: (key, at) => write(key, at, true),
    remove: (key, at) => write(key, at, false),
    has,
    keys: (at) => [...events.keys()].filter((key) => has(key, at)),
  };
}
