import { type Bulkhead, type Claim, type Context, claimDue, type Due, type Job, performClaims } from '@belay/core';
import { findDueSteps, performStep } from '@belay/engine';
import type { Agenda } from './agenda.js';
import type { Bulkheads } from './bulkheads.js';
import { logFailure, watchOutage } from './outage.js';
import { bulkheadOf } from './queues.js';

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

/** How long a bulkhead that was full waits for more places to become free before it looks for work, in milliseconds. */
const pause = 10;
/**
 * Other workers found the same due times: each starts up to this many milliseconds late, so that one of them is first.
 */
const apart = 8;

export interface Work {
  /**
   * Starts a job that is due now. Resolves when its step is done, or when the due work at its provider has been claimed. Returns
   * undefined when no place is free; the work is then found as soon as a place becomes free.
   */
  take(job: Job): Promise<void> | undefined;
  /** Starts a job when it is due. */
  follow(job: Job, dueAt: Date): void;
  /** Starts the jobs that a sweep found, now or when they are due. */
  plan(due: Due): void;
  /** Looks for due work in a bulkhead that has a free place again. */
  look(bulkhead: Bulkhead): void;
}

/** Creates the work of a worker: each step is performed on its own, and due work at one provider is claimed together. */
export function createWork(
  context: Context,
  parts: { bulkheads: Bulkheads; agenda: Agenda; verbs: WorkVerbs | undefined; stopping: AbortSignal },
): Work {
  const { bulkheads, agenda, verbs = coreVerbs, stopping } = parts;
  const outage = watchOutage(context.log, 'the database of the worker');
  /** Bulkheads that are being searched, and whether to search again afterwards. */
  const looking = new Map<string, { again: boolean }>();
  const active = new Set<string>();

  async function perform(executionId: string, key: string): Promise<void> {
    const id = `${executionId} ${key}`;
    active.add(id);
    try {
      await verbs.performStep(context, { executionId, key });
    } catch (error) {
      logFailure(
        context,
        error,
        'a step failed; the sweeper repeats it',
        { execution: executionId, step: key },
        'warn',
      );
    } finally {
      active.delete(id);
    }
  }

  function take(job: Job): Promise<void> | undefined {
    const bulkhead = bulkheadOf(job);
    if (job.queue === 'entitlements') {
      if (bulkheads.room(bulkhead) > 0) return lookThere(job.provider);
      return undefined;
    }
    const place = bulkheads.reserve(bulkhead);
    if (place === null) return undefined;
    return new Promise((resolve) => place.run(() => perform(job.executionId, job.key).finally(resolve)));
  }

  /** Searches a bulkhead once at a time; a call during a search is followed by another search. */
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

  /** Claims due work at a provider, for as many places as are free. */
  function lookThere(provider: string): Promise<void> {
    return once(`provider ${provider}`, async () => {
      const limit = bulkheads.room({ queue: 'entitlements', provider });
      if (limit === 0) return false;
      const grants = Math.min(limit, bulkheads.room({ queue: 'entitlements', provider, task: 'grant' }));
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
        const bulkhead: Bulkhead = { queue: 'entitlements', provider };
        return [claim, bulkheads.occupy(claim.task === 'grant' ? { ...bulkhead, task: 'grant' } : bulkhead)];
      }),
    );
    // Each place is free when its own call returns: it waits neither for slower calls nor for the database.
    verbs
      .performClaims(context, claims, {
        called: (claim) => places.get(claim)?.vacate?.(),
        settled: (claim) => places.get(claim)?.release(),
      })
      .catch((error: unknown) => logFailure(context, error, 'claims could not be performed', { provider }))
      .finally(() => {
        for (const place of places.values()) place.release();
      });
  }

  function lookAtSteps(): Promise<void> {
    return once('executions', async () => {
      const room = bulkheads.room({ queue: 'executions' });
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

  function later(job: Job, at: number, late?: number): void {
    const what = job.queue === 'executions' ? `${job.executionId} ${job.key}` : job.provider;
    agenda.add(`${job.queue} ${what} ${at}`, at, () => void take(job), late);
  }

  return {
    take,
    follow: (job, dueAt) => later(job, dueAt.getTime()),
    plan(due) {
      const now = agenda.now();
      const late = () => ((context.randomBytes(1)[0] ?? 0) * apart) / 255;
      const plan = (job: Job, at: number) => {
        if (at <= now) void take(job);
        else later(job, at, late());
      };
      // Work at providers comes before the steps, because it includes revocations.
      for (const { provider, times } of due.entitlements) {
        for (const at of times) plan({ queue: 'entitlements', entitlementId: '', provider }, at.getTime());
      }
      for (const { executionId, key, dueAt } of due.steps) {
        if (!active.has(`${executionId} ${key}`)) plan({ queue: 'executions', executionId, key }, dueAt.getTime());
      }
    },
    look(bulkhead) {
      if (bulkhead.queue === 'calls' || stopping.aborted) return;
      const look = bulkhead.queue === 'executions' ? lookAtSteps : () => lookThere(bulkhead.provider);
      // More places may become free at the same moment; after a pause they are filled together.
      setTimeout(() => void look(), pause);
    },
  };
}
