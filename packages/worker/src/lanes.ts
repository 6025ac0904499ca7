import type { Lane, Logger, Place } from '@belay/core';

/** How many works a worker process does at the same time. */
export interface Places {
  /** Steps of executions. */
  executions: number;
  /** Grants and revocations at one provider; every provider has places of its own. */
  provider: number;
  /** How many of a provider's places grants may use; the others are reserved for revocations. */
  grants: number;
  /** Queries that executions send to one system, such as the identity of a person. */
  calls: number;
}

export const defaultPlaces: Places = {
  // A step mostly waits for the database, whose pool of connections is the limit: more places would only make its
  // transactions longer; fewer would send hints of a busy process through the queue.
  executions: 64,
  // 32 calls of 100 ms are 320 per second, about where the rate limits of real providers begin.
  provider: 32,
  grants: 24,
  // Separate from the places above, so that queries of requests never delay a revocation.
  calls: 16,
};

/** How many works may wait for a place; further ones start immediately without one. */
const mostWaiting = 1_000;

/** The lane of work that calls no system, or that could not wait for a place; the worker waits for it when it stops. */
const unlimited: Lane = { queue: 'calls', systems: [] };

export interface LaneOptions {
  places: Places;
  /** How long work waits for a place, in milliseconds. */
  patience: number;
  log: Logger;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Called when a lane has a free place, after a place was requested and none was free. */
  onRoom(lane: Lane): void;
}

/** The places of a worker process. A system that never responds fills its own lane and no other. */
export interface Lanes {
  /** Takes a free place, or returns null. */
  reserve(lane: Lane): Place | null;
  /** Takes a place even when none is free: for work that is already claimed. */
  occupy(lane: Lane): Place;
  /** Returns the number of free places; when there is none, `onRoom` is called when one becomes free. */
  room(lane: Lane): number;
  /** Does work as soon as a place is free; resolves to `false` when none became free in time. */
  hand(lane: Lane, work: (inTime: boolean) => Promise<void>): void;
  /** Assigns no more places. Work that has one continues. */
  close(): void;
  /** The number of running works. */
  busy(): number;
  /** Resolves when no work is running. */
  empty(): Promise<void>;
}

interface Waiting {
  lane: Lane;
  begin(place: Place | null): void;
}

/** Creates the lanes of a worker. */
export function createLanes(options: LaneOptions): Lanes {
  const { places, log } = options;
  const taken = new Map<string, number>();
  const refused = new Map<string, Lane>();
  const waiting = new Set<Waiting>();
  const leaving: (() => void)[] = [];
  let busy = 0;
  let closed = false;

  function room(lane: Lane): number {
    if (closed) return 0;
    const free = Math.min(...limitsOf(lane, places).map(([key, limit]) => limit - (taken.get(key) ?? 0)));
    if (free <= 0 && lane.queue !== 'calls') refused.set(nameOf(lane), lane);
    return Math.max(0, free);
  }

  function count(lane: Lane, change: 1 | -1): void {
    for (const [key] of limitsOf(lane, places)) {
      const now = (taken.get(key) ?? 0) + change;
      if (now === 0) taken.delete(key);
      else taken.set(key, now);
    }
    busy += change;
  }

  function occupy(lane: Lane): Place {
    count(lane, 1);
    let held = lane;
    let state: 'reserved' | 'used' | 'free' = 'reserved';
    const free = () => {
      state = 'free';
      count(held, -1);
      admit();
    };
    return {
      run(work) {
        if (state !== 'reserved') return;
        state = 'used';
        // In a later turn of the event loop, so that the caller can assign all of its work before any of it starts.
        setImmediate(() => {
          work()
            .catch((error: unknown) => log.error({ error, lane }, 'work for a provider failed; the sweeper repeats it'))
            .finally(free);
        });
      },
      release() {
        if (state === 'reserved') free();
      },
      vacate() {
        if (state === 'free' || held === unlimited) return;
        count(unlimited, 1);
        count(held, -1);
        held = unlimited;
        admit();
      },
    };
  }

  /** Assigns a free place: first to waiting work, in order, then to due work. */
  function admit(): void {
    for (const one of waiting) if (room(one.lane) > 0) one.begin(occupy(one.lane));
    for (const [name, lane] of [...refused]) {
      refused.delete(name);
      if (!closed && room(lane) > 0) options.onRoom(lane);
    }
    if (busy === 0) for (const leave of leaving.splice(0)) leave();
  }

  return {
    room,
    occupy,
    reserve: (lane) => (room(lane) > 0 ? occupy(lane) : null),
    hand(lane, work) {
      const begin = (place: Place | null) => (place ?? occupy(unlimited)).run(() => work(place !== null));
      if (room(lane) > 0) return begin(occupy(lane));
      if (closed || waiting.size >= mostWaiting) return begin(null);
      const over = new AbortController();
      const one: Waiting = {
        lane,
        begin(place) {
          waiting.delete(one);
          over.abort();
          begin(place);
        },
      };
      waiting.add(one);
      options.delay(options.patience, over.signal).then(
        () => one.begin(null),
        () => {},
      );
    },
    close() {
      closed = true;
      for (const one of waiting) one.begin(null);
    },
    busy: () => busy,
    empty: () => (busy === 0 ? Promise.resolve() : new Promise((resolve) => leaving.push(resolve))),
  };
}

/** What a place in a lane is counted for. */
function limitsOf(lane: Lane, places: Places): [key: string, limit: number][] {
  if (lane.queue === 'executions') return [['executions', places.executions]];
  if (lane.queue === 'calls') return [...new Set(lane.systems)].map((system) => [`calls ${system}`, places.calls]);
  const all: [string, number] = [`provider ${lane.provider}`, places.provider];
  return lane.task === 'grant' ? [all, [`grants ${lane.provider}`, places.grants]] : [all];
}

function nameOf(lane: Lane): string {
  return lane.queue === 'entitlements' ? `${lane.task ?? 'any'} ${lane.provider}` : lane.queue;
}
