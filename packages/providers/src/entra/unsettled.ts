import { createTurns, type InTurn } from '../turns.js';

/** How long, in milliseconds, a write may be missing from reads. */
const settling = 60_000;

/** Records the grants that this process began and has not read back yet, and runs calls for one entitlement in turn. */
export interface Unsettled {
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
  inTurn: InTurn;
}

export function createUnsettled(now: () => number): Unsettled {
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
    inTurn: createTurns(),
  };
}
