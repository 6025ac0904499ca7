import { type Context, type Due, expireLogins, findDue } from '@belay/core';
import type { Agenda } from './agenda.js';
import { jitter } from './jitter.js';
import { watchOutage } from './outage.js';

/** The verbs of core that the sweeper calls. */
export interface SweepVerbs {
  findDue(context: Context): Promise<Due>;
  expireLogins(context: Context): Promise<number>;
}

const coreSweepVerbs: SweepVerbs = { findDue, expireLogins };

/** How often expired logins go; nothing waits for it. */
const expiryInterval = 5 * 60_000;
/** The shortest pause between two passes, when one did not see as far as it should. */
const shortWait = 250;

/**
 * Looks for what is due, and soon will be, at once and then every `interval` milliseconds with a quarter of jitter, straight
 * from the database, so that it needs no queue. It hands what it finds to `plan` and waits for none of it. A failed pass is
 * followed by the next.
 */
export function startSweeper(
  context: Context,
  options: { interval: number; agenda: Agenda; plan(due: Due): void; verbs?: SweepVerbs | undefined },
): { stop(): Promise<void> } {
  const { interval, agenda, plan, verbs = coreSweepVerbs } = options;
  const stopping = new AbortController();
  const outage = watchOutage(context.log, 'the database of the sweeper');
  let sinceExpiry = expiryInterval;

  /** Returns how long to wait at most before the next. */
  async function pass(): Promise<number> {
    try {
      const asked = context.clock().getTime();
      const due = await verbs.findDue(context);
      agenda.compare(asked, due.now.getTime(), context.clock().getTime());
      plan(due);
      if (sinceExpiry >= expiryInterval) {
        await verbs.expireLogins(context);
        sinceExpiry = 0;
      }
      outage.up();
      return due.until === null
        ? Number.POSITIVE_INFINITY
        : Math.max(shortWait, due.until.getTime() - due.now.getTime());
    } catch (error) {
      outage.down(error);
      return Number.POSITIVE_INFINITY;
    }
  }

  async function loop(): Promise<void> {
    for (;;) {
      const most = await pass();
      if (stopping.signal.aborted) return;
      const wait = Math.min(most, jitter(interval, context.randomBytes(1)[0] ?? 0));
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
