import { untilAborted } from '../abort.js';

/** Where a client's `authorization` header comes from. */
export interface Credentials {
  /** Returns the value of the header. Throws `Retryable` or `Terminal`. */
  authorize(signal: AbortSignal): Promise<string>;
  /** The provider answered 401 to this value: `authorize` has to look for another one. */
  forget(spent: string): void;
}

export interface FetchedToken {
  token: string;
  /** How long the token is good for; without it, until the provider answers 401. */
  expiresInMilliseconds?: number;
}

export interface TokenOptions {
  /** Fetches a new token, by a call with limits of its own. Throws `Retryable` or `Terminal`. */
  fetch(signal: AbortSignal): Promise<FetchedToken>;
  now(): number;
  /** `Bearer` unless the vendor has its own word. */
  scheme?: string;
}

/** A token is renewed this long before its end at most: a call may take a while until it arrives. */
const margin = 60_000;

/** Credentials that never change: a personal token, an API key. */
export function fixedCredentials(value: string): Credentials {
  return { authorize: async () => value, forget: () => {} };
}

/** Credentials that are read anew for each call: a file that a sidecar writes. */
export function readCredentials(read: () => Promise<string>): Credentials {
  return { authorize: () => read(), forget: () => {} };
}

/**
 * Tokens that are fetched when they are needed, kept until shortly before they end or until the provider no longer accepts them,
 * and fetched once however many calls wait for one. A fetch that fails is not kept.
 */
export function tokenCredentials({ fetch, now, scheme = 'Bearer' }: TokenOptions): Credentials {
  let held: { value: string; until: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    // Of no single caller: one that gives up must not take the token away from the others.
    const { token, expiresInMilliseconds: lifetime } = await fetch(new AbortController().signal);
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
