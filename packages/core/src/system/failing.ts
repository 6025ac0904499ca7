import { steps } from '@belay/db';
import { and, countDistinct, eq, gt } from 'drizzle-orm';
import type { Store } from '../context.js';

/** Returns how many executions wait for a retry after an internal error. */
export async function countFailing(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: countDistinct(steps.executionId) })
    .from(steps)
    .where(and(eq(steps.status, 'open'), gt(steps.failures, 0)));
  return row?.count ?? 0;
}
