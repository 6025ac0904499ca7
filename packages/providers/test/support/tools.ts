import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import type { ServiceTools } from '../../src/services/port.js';

export interface TestTools extends ServiceTools {
  /** Read anew by each try. */
  timeout: number;
  /** What was waited between tries, in milliseconds; nothing really waits. */
  waited: number[];
}

export function createTools(): TestTools {
  const waited: number[] = [];
  return {
    waited,
    // Long, for a machine that is busy with something else; the tests of silence make it short.
    timeout: 30_000,
    delay: async (milliseconds) => void waited.push(milliseconds),
    randomBytes: (size) => randomBytes(size),
    now: () => Date.now(),
  };
}

/** Returns what a promise is rejected with; throws when it is not. */
export async function faultOf(promise: Promise<unknown>): Promise<Error> {
  const result = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in result && result.error instanceof Error) return result.error;
  throw new Error(`not rejected with an error: ${inspect(result)}`);
}

/** Returns everything that any log could print of an error: its causes and hidden fields too. */
export function everythingIn(error: Error): string {
  return inspect(error, { depth: 20, showHidden: true, maxStringLength: null });
}
