import { type Claim, type Context, claimDue, type Due, type Hint, type Lane, performClaims } from '@belay/core';
import { findDueSteps, performStep } from '@belay/engine';
import type { Agenda } from './agenda.js';
import type { Lanes } from './lanes.js';
import { watchOutage } from './outage.js';
import { laneOf } from './queues.js';

/** The verbs of core that a worker calls. */
export interface WorkVerbs {
  performStep(context: Context, input: { executionId: string; key: string }): Promise<void>;
  findDueSteps(context: Context, limit: number): Promise<{ executionId: string; key: string }[]>;
  claimDue(context: Context, which: { provider: string; limit: number; grants: number }): Promise<Claim[]>;
  performClaims(
    context: Context,
    claims: readonly Claim[],
    heard: { called(claim: Claim): void; settled(claim: Claim): void },
  ): Promise<void>;
}

const coreVerbs: WorkVerbs = { performStep, findDueSteps, claimDue, performClaims };

/** How long a lane that was full waits for more places to become free before it looks for work, in milliseconds. */
const pause = 10;
/**
 * Other workers found the same due times: each starts up to this many milliseconds late, so that one of them is first.
 */
const apart = 8;

export interface Work {
  /**
   * Does what is due now, and resolves when it is done. Returns undefined when no place is free; then it is done as
   * soon as there is one.
   */
  take(hint: Hint): Promise<void> | undefined;
  /** Does it at its time. */
  follow(hint: Hint, dueAt: Date): void;
  /** Does what a sweep found, now or at its time. */
  plan(due: Due): void;
  /** Looks for due work in a lane that has a free place again. */
  look(lane: Lane): void;
}

/** Does the work of a worker: steps one by one, and what is due at a provider together. */
export function createWork(
  context: Context,
  parts: { lanes: Lanes; agenda: Agenda; verbs: WorkVerbs | undefined; stopping: AbortSignal },
): Work {
  const { lanes, agenda, verbs = coreVerbs, stopping } = parts;
  const outage = watchOutage(context.log, 'the database of the worker');
  /** Lanes that are being searched, and whether to search again afterwards. */
  const looking = new Map<string, { again: boolean }>();
  const active = new Set<string>();

  async function perform(executionId: string, key: string): Promise<void> {
    const id = `${executionId} ${key}`;
    active.add(id);
    try {
      await verbs.performStep(context, { executionId, key });
    } catch (error) {
      context.log.warn({ error, execution: executionId, step: key }, 'a step failed; the sweeper repeats it');
    } finally {
      active.delete(id);
    }
  }

  function take(hint: Hint): Promise<void> | undefined {
    const lane = laneOf(hint);
    if (hint.queue === 'entitlements') {
      if (lanes.room(lane) > 0) return lookThere(hint.provider);
      return undefined;
    }
    const place = lanes.reserve(lane);
    if (place === null) return undefined;
    return new Promise((resolve) => place.run(() => perform(hint.executionId, hint.key).finally(resolve)));
  }

  /** Searches a lane once at a time; a call during a search is followed by another search. */
  async function once(name: string, look: () => Promise<boolean>): Promise<void> {
    const current = looking.get(name);
    if (current) {
      current.again = true;
      return;
    }
    const own = { again: true };
    looking.set(name, own);
    try {
      while (own.again && !stopping.aborted) {
        own.again = false;
        if (await look()) own.again = true;
        outage.up();
      }
    } catch (error) {
      outage.down(error);
    } finally {
      looking.delete(name);
    }
  }

  /** Claims what is due at a provider, as much as there are free places. */
  function lookThere(provider: string): Promise<void> {
    return once(`provider ${provider}`, async () => {
      const limit = lanes.room({ queue: 'entitlements', provider });
      if (limit === 0) return false;
      const grants = Math.min(limit, lanes.room({ queue: 'entitlements', provider, task: 'grant' }));
      const claims = await verbs.claimDue(context, { provider, limit, grants });
      start(provider, claims);
      const granting = claims.filter((claim) => claim.task === 'grant').length;
      return claims.length >= limit || (grants > 0 && granting >= grants);
    });
  }

  function start(provider: string, claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    const places = new Map(
      claims.map((claim) => {
        const lane: Lane = { queue: 'entitlements', provider };
        return [claim, lanes.occupy(claim.task === 'grant' ? { ...lane, task: 'grant' } : lane)];
      }),
    );
    // Each place is free when its own call returns: it waits neither for slower calls nor for the database.
    verbs
      .performClaims(context, claims, {
        called: (claim) => places.get(claim)?.vacate?.(),
        settled: (claim) => places.get(claim)?.release(),
      })
      .catch((error: unknown) => context.log.error({ error, provider }, 'claims could not be performed'))
      .finally(() => {
        for (const place of places.values()) place.release();
      });
  }

  function lookAtSteps(): Promise<void> {
    return once('executions', async () => {
      const room = lanes.room({ queue: 'executions' });
      if (room === 0) return false;
      // Rows that this process is about to claim are still due.
      const limit = room + active.size;
      const found = await verbs.findDueSteps(context, limit);
      for (const { executionId, key } of found) {
        if (!active.has(`${executionId} ${key}`)) void take({ queue: 'executions', executionId, key });
      }
      return found.length >= limit;
    });
  }

  function later(hint: Hint, at: number, late?: number): void {
    const what = hint.queue === 'executions' ? `${hint.executionId} ${hint.key}` : hint.provider;
    agenda.add(`${hint.queue} ${what} ${at}`, at, () => void take(hint), late);
  }

  return {
    take,
    follow: (hint, dueAt) => later(hint, dueAt.getTime()),
    plan(due) {
      const now = agenda.now();
      const late = () => ((context.randomBytes(1)[0] ?? 0) * apart) / 255;
      const plan = (hint: Hint, at: number) => {
        if (at <= now) void take(hint);
        else later(hint, at, late());
      };
      // Revocations come first.
      for (const { provider, times } of due.entitlements) {
        for (const at of times) plan({ queue: 'entitlements', entitlementId: '', provider }, at.getTime());
      }
      for (const { executionId, key, dueAt } of due.steps) {
        if (!active.has(`${executionId} ${key}`)) plan({ queue: 'executions', executionId, key }, dueAt.getTime());
      }
    },
    look(lane) {
      if (lane.queue === 'calls' || stopping.aborted) return;
      const look = lane.queue === 'executions' ? lookAtSteps : () => lookThere(lane.provider);
      // More places may become free at the same moment, and are filled together.
      setTimeout(() => void look(), pause);
    },
  };
}
