import { createPlaces, type Places } from '../http/places.js';

/** For so long, in milliseconds, what was written may be missing from what is read. */
const settling = 60_000;

/** What this process has begun to grant and has not seen yet, and the turn of each entitlement. */
export interface Turns {
  /** A grant is about to be sent: until it has been seen or taken back, a "no" means nothing for a minute. */
  begin(key: string): void;
  /** The grant is the request with this identifier. `listed` are those that Entra shows to have come to nothing. */
  sent(key: string, request: string): void;
  listed(key: string, requests: readonly string[]): void;
  end(key: string): void;
  isUnsettled(key: string): boolean;
  take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createTurns(now: () => number): Turns {
  const turns = new Map<string, { places: Places; users: number }>();
  const begun = new Map<string, { until: number; request?: string }>();
  const isUnsettled = (key: string) => {
    if (now() < (begun.get(key)?.until ?? 0)) return true;
    begun.delete(key);
    return false;
  };
  return {
    begin: (key) => void begun.set(key, { until: now() + settling }),
    sent: (key, request) => void begun.set(key, { until: now() + settling, request }),
    listed(key, requests) {
      const request = begun.get(key)?.request;
      if (request !== undefined && requests.includes(request)) begun.delete(key);
    },
    end: (key) => void begun.delete(key),
    isUnsettled,
    async take(key, signal, work) {
      const turn = turns.get(key) ?? { places: createPlaces(1), users: 0 };
      turns.set(key, turn);
      turn.users += 1;
      try {
        return await turn.places.take(signal, work);
      } finally {
        turn.users -= 1;
        if (turn.users === 0) turns.delete(key);
      }
    },
  };
}
