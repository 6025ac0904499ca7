import { jitter } from '@belay/contract/back-off';
import {
  auditDrift,
  type Context,
  compareRestored,
  type Due,
  deleteArchived,
  deleteRequests,
  deleteSettled,
  deliverMessages,
  endLapsedRuns,
  expireLogins,
  findDue,
  noticeRestore,
} from '@belay/core';
import type { Agenda } from './agenda.js';
import { watchOutage } from './outage.js';

/** The verbs of core that the sweeper calls. */
export interface SweepVerbs {
  findDue(context: Context): Promise<Due>;
  expireLogins(context: Context): Promise<number>;
  deleteArchived?(context: Context): Promise<number>;
  deleteRequests?(context: Context): Promise<number>;
  deleteSettled?(context: Context): Promise<number>;
  deliverMessages?(context: Context, options: { signal: AbortSignal }): Promise<number>;
  endLapsedRuns?(context: Context): Promise<number>;
  noticeRestore?(context: Context): Promise<boolean>;
  compareRestored?(context: Context, signal: AbortSignal): Promise<number>;
  auditDrift?(context: Context, signal: AbortSignal): Promise<string | null>;
}

const coreSweepVerbs: SweepVerbs = {
  findDue,
  expireLogins,
  deleteArchived,
  deleteRequests,
  deleteSettled,
  deliverMessages,
  endLapsedRuns,
  noticeRestore,
  compareRestored,
  auditDrift,
};

/** How often expired logins, and rows that are no longer needed, are deleted, in milliseconds. */
const expiryInterval = 5 * 60_000;
/**
 * The pause, in milliseconds, after a slow first pass and after lost jobs, and the shortest one after a pass that did
 * not see as far ahead as it should.
 */
const shortWait = 250;
/** The pause after a failed pass, and while jobs cannot arrive, in milliseconds: nothing else finds due work then. */
const awayWait = 1_000;
/** A response within this many milliseconds is precise enough to compare the clocks. */
const quickAnswer = 15;

export interface Sweeper {
  /** Starts another pass in a moment; several calls in this time start one pass. */
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
  /**
   * How many more passes may follow soon after the first ones, when their responses are too slow to compare the clocks
   * precisely.
   */
  let slowStarts = 4;

  // These run in parallel to the passes, because each can take long: providers can be slow, and there can be many rows to
  // delete. Each pass begins to deliver, also while earlier ones still wait for a slow receiver: a process has a limit of
  // deliveries at a time for each channel, and other channels wait for none of them.
  const deliver = alongside(context, 'messages could not be delivered', () =>
    verbs.deliverMessages?.(context, { signal: stopping.signal }),
  );
  const compare = beside(context, 'a provider could not be compared with what Belay granted', async () => {
    await verbs.compareRestored?.(context, stopping.signal);
    await verbs.auditDrift?.(context, stopping.signal);
  });
  const clear = beside(context, 'rows that are no longer needed could not be deleted', async () => {
    await verbs.deleteSettled?.(context);
    await verbs.deleteRequests?.(context);
    await verbs.deleteArchived?.(context);
  });

  /** Returns the longest wait before the next pass, in milliseconds. */
  async function pass(): Promise<number> {
    try {
      // Before anything is planned, because the rows of a restored database can be out of date.
      await verbs.noticeRestore?.(context);
      const asked = context.clock().getTime();
      const due = await verbs.findDue(context);
      const answered = context.clock().getTime();
      agenda.compare(asked, due.now.getTime(), answered);
      plan(due);
      deliver.begin();
      compare.begin();
      await verbs.endLapsedRuns?.(context);
      if (sinceExpiry >= expiryInterval) {
        await verbs.expireLogins(context);
        clear.begin();
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
        // Other connections may be lost at the same moment; after a pause, one pass finds the jobs that were lost with all of them.
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
      await Promise.all([deliver, compare, clear].map(({ finish }) => finish()));
    },
  };
}

type Work = () => Promise<unknown> | undefined;

/** Returns work that runs in parallel to the passes, once at a time. Its failures are logged. */
function beside(context: Context, failure: string, work: Work) {
  const running = alongside(context, failure, work);
  return { ...running, begin: () => (running.count() > 0 ? undefined : running.begin()) };
}

/** Returns work that runs in parallel to the passes, and to what is left of its earlier runs. Its failures are logged. */
function alongside(context: Context, failure: string, work: Work) {
  const running = new Set<Promise<void>>();
  return {
    count: () => running.size,
    begin(): void {
      const one = Promise.resolve(work())
        .catch((error: unknown) => context.log.warn({ error }, failure))
        .then(() => void running.delete(one));
      running.add(one);
    },
    finish: async () => void (await Promise.all(running)),
  };
}
