import { jitter } from '@belay/contract/back-off';
import { type Context, type Due, deliverMessages, endLapsedRuns, expireLogins, findDue } from '@belay/core';
import type { Agenda } from './agenda.js';
import { watchOutage } from './outage.js';

/** The verbs of core that the sweeper calls. */
export interface SweepVerbs {
  findDue(context: Context): Promise<Due>;
  expireLogins(context: Context): Promise<number>;
  deliverMessages?(context: Context): Promise<number>;
  endLapsedRuns?(context: Context): Promise<number>;
}

const coreSweepVerbs: SweepVerbs = { findDue, expireLogins, deliverMessages, endLapsedRuns };

/** How often expired logins are deleted, in milliseconds; nothing waits for it. */
const expiryInterval = 5 * 60_000;
/** The shortest pause between two passes, in milliseconds, when a pass did not see as far ahead as it should. */
const shortWait = 250;
/** The pause after a failed pass, and while hints cannot arrive, in milliseconds: nothing else finds due work then. */
const awayWait = 1_000;
/** A response within this many milliseconds is precise enough to compare the clocks. */
const quickAnswer = 15;

export interface Sweeper {
  /** Looks again in a moment, once for all that ask meanwhile. */
  soon(): void;
  stop(): Promise<void>;
}

/**
 * Reads what is due, and soon will be, immediately and then every `interval` milliseconds with 25% of jitter, directly
 * from the database, so that it needs no queue. It passes the results to `plan` without waiting for them. It reads every
 * second while `isAway` returns true or its passes fail.
 */
export function startSweeper(
  context: Context,
  options: {
    interval: number;
    agenda: Agenda;
    plan(due: Due): void;
    isAway?(): boolean;
    verbs?: SweepVerbs | undefined;
  },
): Sweeper {
  const { interval, agenda, plan, isAway = () => false, verbs = coreSweepVerbs } = options;
  const stopping = new AbortController();
  let hurry = new AbortController();
  const outage = watchOutage(context.log, 'the database of the sweeper');
  let sinceExpiry = expiryInterval;
  let delivering: Promise<void> | undefined;
  /**
   * How many more passes may follow soon, because a response as slow as the first ones is too imprecise to compare the
   * clocks.
   */
  let slowStarts = 4;

  /** Delivers messages beside the passes, because a provider of messages may take its time. */
  function deliver(): void {
    delivering ??= Promise.resolve(verbs.deliverMessages?.(context))
      .catch((error: unknown) => context.log.warn({ error }, 'messages could not be delivered'))
      .then(() => {
        delivering = undefined;
      });
  }

  /** Returns the longest wait before the next pass, in milliseconds. */
  async function pass(): Promise<number> {
    try {
      const asked = context.clock().getTime();
      const due = await verbs.findDue(context);
      const answered = context.clock().getTime();
      agenda.compare(asked, due.now.getTime(), answered);
      plan(due);
      deliver();
      await verbs.endLapsedRuns?.(context);
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
      const most = isAway() ? awayWait : Number.POSITIVE_INFINITY;
      return due.until === null ? most : Math.min(most, Math.max(shortWait, due.until.getTime() - due.now.getTime()));
    } catch (error) {
      outage.down(error);
      return awayWait;
    }
  }

  async function loop(): Promise<void> {
    for (;;) {
      const most = await pass();
      if (stopping.signal.aborted) return;
      const wait = Math.min(most, jitter(interval, (context.randomBytes(1)[0] ?? 0) / 255));
      sinceExpiry += wait;
      await context.delay(wait, hurry.signal).catch(() => {});
      if (hurry.signal.aborted && !stopping.signal.aborted) {
        // More connections may be lost at the same moment, and new ones are wanted for the hints that follow.
        await context.delay(shortWait, stopping.signal).catch(() => {});
        hurry = new AbortController();
      }
      if (stopping.signal.aborted) return;
    }
  }

  const running = loop();
  return {
    soon: () => hurry.abort(),
    async stop() {
      stopping.abort();
      hurry.abort();
      await running;
      await delivering;
    },
  };
}
