import { untilAborted } from '../abort.js';
import { urgently } from './urgency.js';

/** Where a client's `authorization` header comes from. */
export interface Credentials {
  /** Returns the value of the header. Throws `Retryable` or `Terminal`. */
  authorize(signal: AbortSignal): Promise<string>;
  /** Drops a value that the provider rejected with 401: `authorize` then returns a new value where it can fetch one. */
  forget(spent: string): void;
}

export interface FetchedToken {
  token: string;
  /** How long the token is valid; when absent, until the provider returns 401. */
  expiresInMilliseconds?: number;
}

export interface TokenOptions {
  /** Fetches a new token, by a call with limits of its own. Throws `Retryable` or `Terminal`. */
  fetch(signal: AbortSignal): Promise<FetchedToken>;
  now(): number;
  /** `Bearer` unless the vendor has its own scheme. */
  scheme?: string;
}

/** A token is renewed at most this many milliseconds before its end, because a call may arrive late. */
const margin = 60_000;

/** Returns credentials that never change: a personal token, an API key. */
export function fixedCredentials(value: string): Credentials {
  return { authorize: async () => value, forget: () => {} };
}

/** Returns credentials that are read again for each call: a file that a sidecar writes. */
export function readCredentials(read: () => Promise<string>): Credentials {
  return { authorize: () => read(), forget: () => {} };
}

/**
 * Returns credentials whose token is fetched when it is needed, and kept until shortly before its end or until the provider rejects
 * it. Concurrent calls share one fetch. A fetch that fails is not kept.
 */
export function tokenCredentials({ fetch, now, scheme = 'Bearer' }: TokenOptions): Credentials {
  let held: { value: string; until: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    // Not the signal of one caller: when that caller aborts, the others still need the token. A revocation may be one of them.
    const { token, expiresInMilliseconds: lifetime } = await urgently(() => fetch(new AbortController().signal));
    const value = `${scheme} ${token}`;
    const until = lifetime === undefined ? Number.POSITIVE_INFINITY : now() + lifetime - Math.min(margin, lifetime / 5);
    held = { value, until };
    return value;
  }

  return {
    async authorize(signal) {
      if (held && now() < held.until) return held.value;
      fetching ??= fetchToken().finally(() => {
        fetching = undefined;
      });
      return untilAborted(fetching, signal);
    },
    forget(spent) {
      if (held?.value === spent) held = undefined;
    },
  };
}
