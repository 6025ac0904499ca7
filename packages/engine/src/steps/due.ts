import { steps } from '@belay/db';
import { and, asc, eq, isNull, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import type { EngineStore } from '../ports.js';

/** Returns up to `limit` steps that are due now, or will be at `until`, the longest due first. */
export async function findDueSteps(
  ctx: EngineStore,
  limit: number,
  until: SQL = sql`app_now()`,
): Promise<{ executionId: string; key: string; dueAt: Date }[]> {
  const found = await ctx.db
    .select({ executionId: steps.executionId, key: steps.key, dueAt: steps.dueAt })
    .from(steps)
    .where(
      and(
        eq(steps.status, 'open'),
        ne(steps.kind, 'event'),
        lte(steps.dueAt, until),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
      ),
    )
    .orderBy(asc(steps.dueAt))
    .limit(limit);
  return found.map(({ dueAt, ...step }) => ({ ...step, dueAt: dueAt ?? new Date(0) }));
}
