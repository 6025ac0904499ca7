import { expect } from 'vitest';
import { Retryable } from '../../src/errors.js';

/** Calls until it works, as core does; every fault before that has to be one that is worth another call. */
export async function settle(work: () => Promise<unknown>, between: () => void = () => {}): Promise<void> {
  for (let tried = 0; tried < 60; tried += 1) {
    const error = await work().then(
      () => undefined,
      (caught: unknown) => caught,
    );
    if (error === undefined) return;
    expect(error).toBeInstanceOf(Retryable);
    between();
  }
  throw new Error('not settled');
}

/** Takes a demand to wait out of an answer: it would only make the test wait. */
export function withoutWait<T>(reply: T): T {
  if (typeof reply !== 'object' || reply === null || !('headers' in reply)) return reply;
  const { 'retry-after': _, ...headers } = (reply as { headers: Record<string, string> }).headers ?? {};
  return { ...reply, headers };
}
