import type { Bulkhead, Logger, Place } from '@belay/core';
import { logFailure } from './outage.js';

/** How much work a worker process does at the same time. */
export interface Places {
  /** Steps of executions. */
  executions: number;
  /** Grants and revocations at one provider; every provider has places of its own. */
  provider: number;
  /** How many of a provider's places grants may use; the others are reserved for revocations. */
  grants: number;
  /** Queries that executions send to one system, such as the query for the identity of a person. */
  calls: number;
}

export const defaultPlaces: Places = {
  // A step mostly waits for the database, whose pool of connections is the limit: more places would only make its
  // transactions longer; fewer would send jobs of a busy process through the queue.
  executions: 64,
  // 32 calls of 100 ms are 320 per second, about where the rate limits of real providers begin.
  provider: 32,
  grants: 24,
  // Separate from the places above, so that queries of requests never delay a revocation.
  calls: 16,
};

/** How many pieces of work may wait for a place; further ones start immediately without one. */
const mostWaiting = 1_000;

/** The bulkhead of work without a place: it has no limit, but the worker waits for this work too when it stops. */
const unlimited: Bulkhead = { queue: 'calls', systems: [] };

export interface BulkheadOptions {
  places: Places;
  /** How long work waits for a place, in milliseconds. */
  patience: number;
  log: Logger;
  clock(): Date;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Called when a bulkhead has a free place, after a place was requested and none was free; never for `calls`. */
  onRoom(bulkhead: Bulkhead): void;
}

/** The places of a worker process. A system that never responds fills its own bulkhead and no other. */
export interface Bulkheads {
  /** Takes a free place, or returns null. */
  reserve(bulkhead: Bulkhead): Place | null;
  /** Takes a place even when none is free: for work that is already claimed. */
  occupy(bulkhead: Bulkhead): Place;
  /** Returns the number of free places; when there is none, `onRoom` is called when one becomes free. */
  room(bulkhead: Bulkhead): number;
  /** Returns whether other work waits for a place, or none is assigned any more: then work ends after its current turn. */
  isWanted(bulkhead: Bulkhead): boolean;
  /** Starts work as soon as a place is free. When none becomes free in time, starts it without a place, with `inTime` false. */
  hand(bulkhead: Bulkhead, work: (inTime: boolean) => Promise<void>): void;
  /** Assigns no more places. Work that has one continues, and work that waits for one starts without it. */
  close(): void;
  /** Returns how many pieces of work hold a place or run. */
  busy(): number;
  /** Resolves when no work holds a place or runs. */
  empty(): Promise<void>;
}

interface Waiting {
  bulkhead: Bulkhead;
  begin(place: Place | null): void;
}

/** Creates the bulkheads of a worker. */
export function createBulkheads(options: BulkheadOptions): Bulkheads {
  const { places } = options;
  const taken = new Map<string, number>();
  const refused = new Map<string, Bulkhead>();
  const waiting = new Set<Waiting>();
  const leaving: (() => void)[] = [];
  let busy = 0;
  let closed = false;

  function room(bulkhead: Bulkhead): number {
    if (closed) return 0;
    const free = Math.min(...limitsOf(bulkhead, places).map(([key, limit]) => limit - (taken.get(key) ?? 0)));
    if (free <= 0 && bulkhead.queue !== 'calls') refused.set(nameOf(bulkhead), bulkhead);
    return Math.max(0, free);
  }

  function count(bulkhead: Bulkhead, change: 1 | -1): void {
    for (const [key] of limitsOf(bulkhead, places)) {
      const now = (taken.get(key) ?? 0) + change;
      if (now === 0) taken.delete(key);
      else taken.set(key, now);
    }
    busy += change;
  }

  function occupy(bulkhead: Bulkhead): Place {
    count(bulkhead, 1);
    let held = bulkhead;
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
            .catch((error: unknown) =>
              logFailure(options, error, 'work for a provider failed; the sweeper repeats it', { bulkhead }),
            )
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
    for (const one of waiting) if (room(one.bulkhead) > 0) one.begin(occupy(one.bulkhead));
    for (const [name, bulkhead] of [...refused]) {
      refused.delete(name);
      if (!closed && room(bulkhead) > 0) options.onRoom(bulkhead);
    }
    if (busy === 0) for (const leave of leaving.splice(0)) leave();
  }

  return {
    room,
    occupy,
    reserve: (bulkhead) => (room(bulkhead) > 0 ? occupy(bulkhead) : null),
    isWanted: (bulkhead) => closed || refused.has(nameOf(bulkhead)),
    hand(bulkhead, work) {
      const begin = (place: Place | null) => (place ?? occupy(unlimited)).run(() => work(place !== null));
      if (room(bulkhead) > 0) return begin(occupy(bulkhead));
      if (closed || waiting.size >= mostWaiting) return begin(null);
      const over = new AbortController();
      const one: Waiting = {
        bulkhead,
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

/** Returns the counters that a place in a bulkhead adds to, each with its limit. */
function limitsOf(bulkhead: Bulkhead, places: Places): [key: string, limit: number][] {
  if (bulkhead.queue === 'executions') return [['executions', places.executions]];
  if (bulkhead.queue === 'calls')
    return [...new Set(bulkhead.systems)].map((system) => [`calls ${system}`, places.calls]);
  const all: [string, number] = [`provider ${bulkhead.provider}`, places.provider];
  return bulkhead.task === 'grant' ? [all, [`grants ${bulkhead.provider}`, places.grants]] : [all];
}

function nameOf(bulkhead: Bulkhead): string {
  return bulkhead.queue === 'entitlements' ? `${bulkhead.task ?? 'any'} ${bulkhead.provider}` : bulkhead.queue;
}
