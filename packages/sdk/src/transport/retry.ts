import { backOff } from '@belay/contract/back-off';
import type { BelayError } from '../errors.js';

/** How failed calls are tried again. */
export interface RetryPolicy {
  /** How many tries a call gets in all. */
  attempts: number;
  /** How many connections in a row a watch tries without getting an event; more, so that it outlives a restart. */
  streamAttempts: number;
  /** The first wait, in milliseconds; it doubles with every failure. */
  firstDelay: number;
  /** The longest wait, in milliseconds. When a server requires a longer wait, the call is not repeated. */
  longestDelay: number;
}

/** What the SDK waits with and draws its jitter from; handed in, so that a test needs no sleep. */
export interface Patience {
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** A number from 0 up to, but not including, 1. */
  random(): number;
}

const passing = new Set<BelayError['code']>(['network', 'unavailable', 'too_many_requests']);

/**
 * Returns how long to wait before another try after `failures` in a row, or undefined when there should be none. Half
 * of the wait is jitter, so that clients that failed together do not come back together.
 */
export function nextDelay(
  policy: RetryPolicy,
  error: BelayError,
  failures: number,
  random: () => number,
): number | undefined {
  if (!passing.has(error.code) || failures >= policy.attempts) return undefined;
  const asked = error.retryAfterMilliseconds ?? 0;
  if (asked > policy.longestDelay) return undefined;
  const pauses = { first: policy.firstDelay, last: policy.longestDelay };
  return Math.max(asked, backOff(pauses, failures, random()));
}
