import { expect } from 'vitest';
import { Retryable } from '../../src/errors.js';

/** Repeats `work` until it succeeds, as core does. Every error before that must be `Retryable`. */
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

/** Removes `retry-after` from a reply, because it would only slow the test down. */
export function withoutWait<T>(reply: T): T {
  if (typeof reply !== 'object' || reply === null || !('headers' in reply)) return reply;
  const { 'retry-after': _, ...headers } = (reply as { headers: Record<string, string> }).headers ?? {};
  return { ...reply, headers };
}
