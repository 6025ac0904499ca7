import { Retryable } from './errors.js';

/**
 * Returns the result of `work`, or throws `Retryable` as soon as `signal` aborts. The work may still finish at the
 * provider afterwards: the caller must count an aborted mutation as one that happened (R4).
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(stopped(signal));
    if (signal.aborted) {
      work.catch(() => {});
      stop();
      return;
    }
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Throws `Retryable` when `signal` is already aborted, so that nothing new is started. */
export function refuseWhenAborted(signal: AbortSignal): void {
  if (signal.aborted) throw stopped(signal);
}

export function stopped(signal: AbortSignal): Retryable {
  return new Retryable('The call to the provider was aborted before it finished', { cause: signal.reason });
}

/**
 * Returns a function that runs work until its signal aborts. It converts every error of the work, and the abort, with
 * `explain`, or with the `toError` of the caller. It throws `Retryable` without starting the work when the signal is
 * already aborted.
 */
export function guardBy(explain: (error: unknown) => Error | Promise<Error>) {
  return async <T>(signal: AbortSignal, work: () => Promise<T>, toError = explain): Promise<T> => {
    refuseWhenAborted(signal);
    try {
      return await untilAborted(work(), signal);
    } catch (error) {
      throw await toError(error);
    }
  };
}
