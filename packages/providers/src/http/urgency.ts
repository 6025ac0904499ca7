import { AsyncLocalStorage } from 'node:async_hooks';

const urgent = new AsyncLocalStorage<boolean>();

/**
 * Runs a revocation, or the read that verifies it: its calls may use the part of a provider's limit that is reserved for them
 * (`Budget`). All other calls leave that part.
 */
export function urgently<T>(work: () => T): T {
  return urgent.run(true, work);
}

/** Returns whether the caller is a revocation, or the read that verifies it. */
export function isUrgent(): boolean {
  return urgent.getStore() === true;
}
