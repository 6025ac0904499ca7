import { jitter } from '@belay/contract/back-off';
import { type Context, standByHeld } from '@belay/core';
import { watchOutage } from './outage.js';

/** The verb of core that keeps providers reachable for revocations. */
export interface StandByVerbs {
  standByHeld(context: Context, signal: AbortSignal): Promise<{ finished: Promise<void> }>;
}

const coreStandByVerbs: StandByVerbs = { standByHeld };

/**
 * Calls the verb immediately and then every `interval` milliseconds with 25% of jitter. It runs beside the sweeper, so
 * that neither a long pass nor a provider that hangs delays it. `stop` aborts the running calls.
 */
export function startStandBy(
  context: Context,
  options: { interval: number; verbs?: StandByVerbs | undefined },
): { stop(): Promise<void> } {
  const { interval, verbs = coreStandByVerbs } = options;
  const stopping = new AbortController();
  const outage = watchOutage(context.log, 'the database of the stand-by');
  const calls = new Set<Promise<void>>();

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const { finished } = await verbs.standByHeld(context, stopping.signal);
        const ended = finished.finally(() => calls.delete(ended));
        calls.add(ended);
        outage.up();
      } catch (error) {
        outage.down(error);
      }
      const wait = jitter(interval, (context.randomBytes(1)[0] ?? 0) / 255);
      await context.delay(wait, stopping.signal).catch(() => undefined);
    }
  }

  const running = loop();
  return {
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(calls);
    },
  };
}
