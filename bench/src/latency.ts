import { decideApproval, requestElevation } from '@belay/core';
import { grants } from '@belay/db';
import { eq } from 'drizzle-orm';
import { listenToApprovals } from './belay/approvals.js';
import { listenToRecords } from './belay/records.js';
import { type Bench, openBench } from './setup.js';
import { type Spread, spreadOf } from './spread.js';

export interface Latency {
  /** From the approver's call to the record that the access is active. */
  approveToActive: Spread;
  /** From a grant's end to the record that the provider no longer holds it. */
  expiryToGone: Spread;
}

/**
 * Measures how long people wait for access, and how late access ends, when a few people use an otherwise idle service. Each requests
 * access for two seconds, is approved, and waits for its end.
 */
export async function measureLatency(options: {
  people: number;
  rounds: number;
  redisUrl?: string;
  local?: boolean;
}): Promise<Latency> {
  const bench = await openBench(options);
  try {
    const next = listenToRecords(bench);
    const opened = listenToApprovals(bench);
    const active: number[] = [];
    const gone: number[] = [];
    const round = async (person: Bench['people'][number], counts: boolean) => {
      const { output } = await requestElevation(person, {
        role: 'reader',
        workflow: 'approve',
        reason: 'a benchmark',
        duration: 'PT2S',
      });
      const { execution_id: id } = output;
      await opened(id);
      const started = next(person.actor.email);
      const before = performance.now();
      await decideApproval(bench.approverOf(person), { id, verdict: 'approve', via: 'api' });
      await started;
      const taken = performance.now() - before;
      const ended = next(person.actor.email);
      const [grant] = await bench.ctx.db
        .select({ expiresAt: grants.expiresAt })
        .from(grants)
        .where(eq(grants.executionId, id));
      await ended;
      const late = Date.now() - (grant?.expiresAt?.getTime() ?? 0);
      if (counts) {
        active.push(taken);
        gone.push(late);
      }
    };
    await Promise.all(bench.people.map((person) => round(person, false)));
    await Promise.all(
      bench.people.map(async (person, index) => {
        // People start at different moments, because this measures one person's wait; throughput is measured elsewhere.
        await bench.ctx.delay((index * 2_000) / bench.people.length);
        for (let done = 0; done < options.rounds; done += 1) await round(person, true);
      }),
    );
    return { approveToActive: spreadOf(active), expiryToGone: spreadOf(gone) };
  } finally {
    await bench.close();
  }
}
