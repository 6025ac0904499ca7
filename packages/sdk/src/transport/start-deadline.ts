import { BelayError } from '../errors.js';
import type { Patience } from './retry.js';

/** The longest that a timer takes; what is longer is for ever. */
const longestTimer = 2 ** 31 - 1;

/**
 * A signal that aborts with the caller's or when the time is over, and what to say then. Call `end` when it is no
 * longer needed.
 */
export interface Deadline {
  signal: AbortSignal;
  /** The failure to throw; undefined while there is time. */
  passed(): BelayError | undefined;
  end(): void;
}

/** Starts a deadline, in milliseconds. */
export function startDeadline(
  { delay }: Pick<Patience, 'delay'>,
  milliseconds: number,
  url: string,
  signal?: AbortSignal,
): Deadline {
  const ended = new AbortController();
  const over = new AbortController();
  let late: BelayError | undefined;
  const onAbort = () => ended.abort(signal?.reason);
  const onTime = () => {
    const message = `no response from ${new URL(url).origin} within ${milliseconds / 1000} seconds`;
    late = new BelayError('network', message, { status: 0, cause: new DOMException(message, 'TimeoutError') });
    ended.abort(late);
  };
  if (milliseconds <= longestTimer) delay(milliseconds, over.signal).then(onTime, () => {});
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: ended.signal,
    passed: () => late,
    end() {
      over.abort();
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

/** Returns whether a call failed because its time was over. */
export function isLate(error: BelayError): boolean {
  return error.cause instanceof DOMException && error.cause.name === 'TimeoutError';
}
