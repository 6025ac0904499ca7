import { requestElevation } from '@belay/core';
import type { MemoryFault } from '@belay/providers/testkit';
import { sql } from 'drizzle-orm';
import { openBench } from './setup.js';
import { type Spread, spreadOf } from './spread.js';

export interface Expiry {
  /** From the end of a grant at the healthy system to the record that its removal was verified, in milliseconds. */
  gone: Spread;
  /** How many are still held at the system that does not respond. */
  stuck: number;
}

/** In how many milliseconds the grants begin to end: until then the sweeper has to find them. */
const ahead = 12_000;
/** How long to wait for the ends at the silent system when it responds again, in milliseconds. */
const longest = 60_000;
/** How many requests are made at a time; they are not measured. */
const together = 8;

/**
 * Measures how late access ends that is to end for many people in the same second, while the system of `silent` other people does
 * not respond. The ends are set in the database, because so many requests cannot be made in one second.
 */
export async function measureExpiry(options: { people: number; silent: number; redisUrl?: string }): Promise<Expiry> {
  const { people, silent, ...redis } = options;
  const bench = await openBench({ people: people + silent, ...redis });
  const { db, delay } = bench.ctx;
  const one = async <T extends Record<string, unknown>>(query: ReturnType<typeof sql>) => {
    const [row] = await db.execute<T>(query);
    if (!row) throw new Error('A count is missing');
    return row;
  };
  try {
    const waiting = bench.people.map((person, index) => ({
      person,
      role: index < people ? 'reader' : 'silent-reader',
    }));
    await Promise.all(
      Array.from({ length: together }, async () => {
        for (let next = waiting.pop(); next; next = waiting.pop()) {
          const { person, role } = next;
          await requestElevation(person, { role, workflow: 'grant', reason: 'a benchmark' });
        }
      }),
    );
    const active = sql`select count(*)::int as count from grants where activated_at is not null`;
    while ((await one<{ count: number }>(active)).count < people + silent) await delay(100);
    const { take } = bench.silent;
    // From now on the silent system does not respond.
    Object.assign(bench.silent, { take: (): MemoryFault => ({ kind: 'hang' }) });
    const end = new Date(Date.now() + ahead).toISOString();
    await db.execute(sql`update grants set expires_at = ${end}::timestamptz + random() * interval '1 second'`);
    await db.execute(sql`
      update entitlements set due_at = g.expires_at from grants g where g.entitlement_id = entitlements.id`);
    const left = sql`
      select count(*) filter (where e.provider = 'memory')::int as healthy, count(*) filter (where e.provider = 'silent')::int as silent
      from grants g join entitlements e on e.id = g.entitlement_id where g.gone_at is null`;
    await delay(ahead);
    for (;;) {
      const { healthy, silent: stuck } = await one<{ healthy: number; silent: number }>(left);
      if (healthy > 0) {
        await delay(100);
        continue;
      }
      const late = await db.execute<{ late: number }>(sql`
        select extract(epoch from g.gone_at - g.expires_at)::float8 * 1000 as late
        from grants g join entitlements e on e.id = g.entitlement_id where e.provider = 'memory'`);
      // What hangs must not disturb the next measurement.
      Object.assign(bench.silent, { take });
      const since = performance.now();
      while ((await one<{ silent: number }>(left)).silent > 0 && performance.now() - since < longest) await delay(100);
      return { gone: spreadOf(late.map((row) => row.late)), stuck };
    }
  } finally {
    await bench.close();
  }
}
