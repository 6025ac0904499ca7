import { Retryable } from '@belay/providers';

/** How long an aborted call may take to return its result, in milliseconds. */
const grace = 1_000;

/**
 * Returns the result of the work. Throws `Retryable` when the work continues although `signal` aborted it, so that a connector that ignores
 * the signal delays nothing else. `late` is called when such work ends after all.
 */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal, late?: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop = () => {};
  const abandoned = Symbol('abandoned');
  const overdue = new Promise<typeof abandoned>((resolve) => {
    stop = () => {
      timer = setTimeout(() => resolve(abandoned), grace);
    };
  });
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    const result = await Promise.race([work, overdue]);
    if (result !== abandoned) return result as T;
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(timer);
  }
  work.catch(() => {}).finally(late);
  throw new Retryable('The provider did not respond in time');
}
