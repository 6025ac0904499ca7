import { Retryable } from '@belay/providers';

/** How long a call may take to say what came of it once it was told to stop, in milliseconds. */
const grace = 1_000;

/**
 * Returns what the work returns, or throws `Retryable` when it goes on although `signal` told it to stop: a connector that
 * does not listen holds up nobody. What the work then comes to is for `late`.
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
