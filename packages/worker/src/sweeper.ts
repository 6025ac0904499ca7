import { jitter } from '@belay/contract/back-off';
import { type Context, type Due, expireLogins, findDue } from '@belay/core';
import type { Agenda } from './agenda.js';
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
/** An answer within this says well enough how the clocks differ, in milliseconds. */
const quickAnswer = 15;

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
  /** How many more passes may follow soon, because an answer as slow as the first ones says little about the clocks. */
  let slowStarts = 4;

  /** Returns how long to wait at most before the next. */
  async function pass(): Promise<number> {
    try {
      const asked = context.clock().getTime();
      const due = await verbs.findDue(context);
      const answered = context.clock().getTime();
      agenda.compare(asked, due.now.getTime(), answered);
      plan(due);
      if (sinceExpiry >= expiryInterval) {
        await verbs.expireLogins(context);
        sinceExpiry = 0;
      }
      outage.up();
      if (slowStarts > 0 && answered - asked > quickAnswer) {
        slowStarts -= 1;
        return shortWait;
      }
      slowStarts = 0;
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
      const wait = Math.min(most, jitter(interval, (context.randomBytes(1)[0] ?? 0) / 255));
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
