import { steps } from '@belay/db';
import { and, countDistinct, eq, gt } from 'drizzle-orm';
import type { Context } from '../context.js';

/** Returns how many executions wait to be tried again because they failed by an error of the service. */
export async function countFailing(ctx: Context): Promise<number> {
  const [row] = await ctx.db
    .select({ count: countDistinct(steps.executionId) })
    .from(steps)
    .where(and(eq(steps.status, 'open'), gt(steps.failures, 0)));
  return row?.count ?? 0;
}
