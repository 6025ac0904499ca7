import { BelayError } from '../errors.js';

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

/**
 * Starts a deadline, in milliseconds. The timer is a plain one, cleared at the end: one that hangs on a signal alone
 * may be collected before it fires.
 */
export function startDeadline(milliseconds: number, url: string, signal?: AbortSignal): Deadline {
  const ended = new AbortController();
  let late: BelayError | undefined;
  const onAbort = () => ended.abort(signal?.reason);
  const onTime = () => {
    const message = `no response from ${new URL(url).origin} within ${milliseconds / 1000} seconds`;
    late = new BelayError('network', message, { status: 0, cause: new DOMException(message, 'TimeoutError') });
    ended.abort(late);
  };
  const timer = milliseconds <= longestTimer ? setTimeout(onTime, milliseconds) : undefined;
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: ended.signal,
    passed: () => late,
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

/** Returns whether a call failed because its time was over. */
export function isLate(error: BelayError): boolean {
  return error.cause instanceof DOMException && error.cause.name === 'TimeoutError';
}
