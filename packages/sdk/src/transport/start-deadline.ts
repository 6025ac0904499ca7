import { BelayError } from '../errors.js';
import type { Patience } from './retry.js';

/** The longest time of a timer, in milliseconds; a longer deadline never ends. */
const longestTimer = 2 ** 31 - 1;

/** A signal that aborts when the caller's signal does or when the time is over. Call `end` when it is no longer needed. */
export interface Deadline {
  signal: AbortSignal;
  /** Returns the error to throw; undefined while there is time left. */
  passed(): BelayError | undefined;
  end(): void;
}

/** Returns a deadline that ends after `milliseconds`. `url` is named in its error. */
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
