import { pauseAfter } from '@belay/contract/back-off';
import { untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import { within } from '../within.js';
import type { ServiceTools } from './port.js';

/** The number of attempts per call: enough to outlast a short failure, and few enough that a start fails fast. */
const tries = 3;
/** How long one attempt may take, in milliseconds, unless the tools say otherwise. */
export const timeout = 3_000;
const pauses = { first: 300, last: 2_000 };

/** Converts a vendor's error to an error with our own message. */
export type Explain = (error: unknown) => Retryable | Terminal;

/**
 * Calls a service, with a time limit for each attempt, and repeats the call when it may succeed. The vendor's error is
 * replaced, because such errors contain requests, and requests contain credentials.
 */
export async function attempt<T>(
  tools: ServiceTools,
  signal: AbortSignal,
  explain: Explain,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    const limited = within(signal, tools.timeout ?? timeout);
    try {
      return await untilAborted(work(limited), limited);
    } catch (error) {
      const fault = limited.aborted ? new Retryable('The service did not respond in time') : explain(error);
      if (fault instanceof Terminal || signal.aborted || tried === tries) throw fault;
      const wait = Math.min(fault.options.afterMilliseconds ?? pauseAfter(pauses, tried), pauses.last);
      await tools.delay(wait, signal).catch(() => {
        throw fault;
      });
    }
  }
}
