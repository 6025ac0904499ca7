import { backOff } from '@belay/contract/back-off';
import type { BelayError } from '../errors.js';

/** How failed calls are retried. */
export interface RetryPolicy {
  /** How many attempts a call gets in total. */
  attempts: number;
  /** How many connections in a row a watch tries without receiving an event; more than for calls, so that it survives a restart. */
  streamAttempts: number;
  /** The first pause, in milliseconds; it doubles with every failure. */
  firstDelay: number;
  /** The longest pause, in milliseconds. When a server requires a longer one, the call is not retried. */
  longestDelay: number;
}

/** The sources of pauses and of jitter; passed in, so that tests need not sleep. */
export interface Patience {
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Returns a number from 0 up to, but not including, 1. */
  random(): number;
}

const passing = new Set<BelayError['code']>(['network', 'unavailable', 'too_many_requests']);

/**
 * Returns how long to wait before a retry after `failures` failures in a row; undefined when there should be none. Half of the pause is
 * jitter, so that clients that failed at the same time do not retry at the same time.
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
