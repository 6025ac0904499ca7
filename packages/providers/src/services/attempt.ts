import { pauseAfter } from '@belay/contract/back-off';
import { untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import { within } from '../within.js';
import type { ServiceTools } from './port.js';

/** Tries of one question at most: enough for a hiccup, few enough for a start to fail soon. */
const tries = 3;
const timeout = 3_000;
const pauses = { first: 300, last: 2_000 };

/** What a vendor's failure comes to, in words of ours. */
export type Explain = (error: unknown) => Retryable | Terminal;

/**
 * Asks a service, each try within its time, a few times when it may answer differently. Whatever the vendor's client threw
 * is explained and left behind: such errors carry requests, and requests carry credentials.
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
