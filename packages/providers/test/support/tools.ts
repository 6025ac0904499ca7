import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import type { ServiceTools } from '../../src/services/port.js';

export interface TestTools extends ServiceTools {
  /** The time limit of an attempt in milliseconds, read again by each attempt. */
  timeout: number;
  /** The waits between attempts, in milliseconds; no attempt really waits. */
  waited: number[];
}

export function createTools(): TestTools {
  const waited: number[] = [];
  return {
    waited,
    // Long, because the machine may be busy; the tests of silence shorten it.
    timeout: 30_000,
    delay: async (milliseconds) => void waited.push(milliseconds),
    randomBytes: (size) => randomBytes(size),
    now: () => Date.now(),
  };
}

/** Returns the error with which a promise is rejected; throws when it is not rejected. */
export async function faultOf(promise: Promise<unknown>): Promise<Error> {
  const result = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in result && result.error instanceof Error) return result.error;
  throw new Error(`not rejected with an error: ${inspect(result)}`);
}

/** Returns everything about an error that a log could print, including its causes and hidden fields. */
export function everythingIn(error: Error): string {
  return inspect(error, { depth: 20, showHidden: true, maxStringLength: null });
}
