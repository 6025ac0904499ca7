import { type Context, expireLogins, sweep } from '@belay/core';
import { jitter } from './jitter.js';
import { watchOutage } from './outage.js';

/** The verbs of core that the sweeper calls. */
export interface SweepVerbs {
  sweep(context: Context): Promise<{ steps: number; entitlements: number }>;
  expireLogins(context: Context): Promise<number>;
}

const coreSweepVerbs: SweepVerbs = { sweep, expireLogins };

/** How often expired logins go; nothing waits for it. */
const expiryInterval = 5 * 60_000;
/** What one pass takes at most of each kind (design §5.4); a full one is followed by the next without the long wait. */
const fullPass = 100;
const shortWait = 250;

/**
 * Looks for due rows that no hint reached, at once and then every `interval` milliseconds with a quarter of jitter,
 * straight from the database, so that it needs no queue. One pass at a time; a failed pass is followed by the next.
 * `stop` lets the pass that is under way finish.
 */
export function startSweeper(
  context: Context,
  options: { interval: number; verbs?: SweepVerbs },
): { stop(): Promise<void> } {
  const { interval, verbs = coreSweepVerbs } = options;
  const stopping = new AbortController();
  const outage = watchOutage(context.log, 'the database of the sweeper');
  let sinceExpiry = expiryInterval;

  async function pass(): Promise<boolean> {
    try {
      const handled = await verbs.sweep(context);
      if (sinceExpiry >= expiryInterval) {
        await verbs.expireLogins(context);
        sinceExpiry = 0;
      }
      outage.up();
      return handled.steps >= fullPass || handled.entitlements >= fullPass;
    } catch (error) {
      outage.down(error);
      return false;
    }
  }

  async function loop(): Promise<void> {
    for (;;) {
      const more = await pass();
      if (stopping.signal.aborted) return;
      const wait = more ? shortWait : jitter(interval, context.randomBytes(1)[0] ?? 0);
      sinceExpiry += wait;
      try {
        await context.delay(wait, stopping.signal);
      } catch {
        return;
      }
    }
  }

  const running = loop();
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}
