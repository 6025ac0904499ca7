import { createPlaces, type Places } from '../http/places.js';

/** How long, in milliseconds, a write may be missing from reads. */
const settling = 60_000;

/** Records the grants that this process began and has not read back yet, and runs calls for one entitlement in turn. */
export interface Turns {
  /**
   * Records that a grant is about to be sent. Until the record ends, after a minute at most, a read that lacks the
   * grant does not show that the grant is absent.
   */
  begin(key: string): void;
  /** Records the identifier of the grant's request, and begins the minute again. */
  sent(key: string, request: string): void;
  /** Ends the record when its request is in `requests`: the requests that Entra lists as ended without an assignment. */
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
