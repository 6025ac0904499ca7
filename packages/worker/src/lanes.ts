import type { Lane, Logger, Place } from '@belay/core';

/** How many things a worker process does at the same time. */
export interface Places {
  /** Steps of executions. */
  executions: number;
  /** Calls of one provider; every provider has its own. */
  provider: number;
  /** How many of a provider's places grants may take; the others are kept for revocations. */
  grants: number;
}

export const defaultPlaces: Places = {
  // A step waits for the database most of its time, and the pool of connections limits what reaches it: more places only
  // make the transactions longer, fewer send hints of a busy process through the queue.
  executions: 64,
  // A call waits for a provider. 32 calls of 100 ms are 320 a second, about where the limits of real providers begin.
  provider: 32,
  grants: 24,
};

/** What a worker process has places for. A provider that never answers fills its own lane and no other. */
export interface Lanes {
  /** A free place, or null. */
  reserve(lane: Lane): Place | null;
  /** Waits for a place; null when the worker stopped meanwhile. */
  enter(lane: Lane): Promise<Place | null>;
  /** From now on nobody gets a place. What has one goes on. */
  close(): void;
  /** How many places are taken. */
  busy(): number;
  /** Resolves when no place is taken. */
  empty(): Promise<void>;
}

interface Usage {
  busy: number;
  grants: number;
  waiting: { lane: Lane; resolve(place: Place | null): void }[];
}

/** Makes the lanes of a worker. A lane exists while somebody is in it. */
export function createLanes(log: Logger, places: Places): Lanes {
  const lanes = new Map<string, Usage>();
  const leaving: (() => void)[] = [];
  let busy = 0;
  let closed = false;

  function hasRoom(lane: Lane, usage: Usage): boolean {
    if (lane.queue === 'executions') return usage.busy < places.executions;
    return usage.busy < places.provider && (lane.task !== 'grant' || usage.grants < places.grants);
  }

  function take(lane: Lane, usage: Usage): Place {
    const weight = lane.queue === 'entitlements' && lane.task === 'grant' ? 1 : 0;
    usage.busy += 1;
    usage.grants += weight;
    busy += 1;
    let taken = true;
    const free = () => {
      if (!taken) return;
      taken = false;
      usage.busy -= 1;
      usage.grants -= weight;
      busy -= 1;
      admit(lane, usage);
    };
    let used = false;
    return {
      run(work) {
        if (used || !taken) return;
        used = true;
        // Not in the caller's own turn: whoever hands out work goes on before any of it starts.
        setImmediate(() => {
          work()
            .catch((error: unknown) => log.error({ error, lane }, 'work in a place failed; the sweeper will come by'))
            .finally(free);
        });
      },
      release() {
        if (!used) free();
      },
    };
  }

  function admit(lane: Lane, usage: Usage): void {
    for (const waiter of [...usage.waiting]) {
      if (!hasRoom(waiter.lane, usage)) continue;
      usage.waiting.splice(usage.waiting.indexOf(waiter), 1);
      waiter.resolve(take(waiter.lane, usage));
    }
    if (usage.busy === 0 && usage.waiting.length === 0) lanes.delete(keyOf(lane));
    if (busy === 0) for (const leave of leaving.splice(0)) leave();
  }

  function usageOf(lane: Lane): Usage {
    const key = keyOf(lane);
    const usage = lanes.get(key) ?? { busy: 0, grants: 0, waiting: [] };
    lanes.set(key, usage);
    return usage;
  }

  function reserve(lane: Lane): Place | null {
    if (closed) return null;
    const usage = usageOf(lane);
    return hasRoom(lane, usage) ? take(lane, usage) : null;
  }

  return {
    reserve,
    enter(lane) {
      const place = reserve(lane);
      if (place !== null || closed) return Promise.resolve(place);
      return new Promise((resolve) => usageOf(lane).waiting.push({ lane, resolve }));
    },
    close() {
      closed = true;
      for (const usage of lanes.values()) for (const waiter of usage.waiting.splice(0)) waiter.resolve(null);
    },
    busy: () => busy,
    empty: () => (busy === 0 ? Promise.resolve() : new Promise((resolve) => leaving.push(resolve))),
  };
}

function keyOf(lane: Lane): string {
  return lane.queue === 'executions' ? 'executions' : `provider ${lane.provider}`;
}
