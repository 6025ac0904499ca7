import { steps } from '@belay/db';
import { and, eq, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm';
import type { Context } from '../../context.js';

/**
 * Keeps a step whose turn could not be taken out of sight for a moment: otherwise it would be the longest due for ever, and as
 * many of them as there are places would keep everything else from being found.
 */
export async function putBack(ctx: Context, { executionId, key }: { executionId: string; key: string }): Promise<void> {
  await ctx.db
    .update(steps)
    .set({ leaseUntil: sql`app_now() + ${`${ctx.timing.grantBackoff.first} milliseconds`}::interval` })
    .where(
      and(
        eq(steps.executionId, executionId),
        eq(steps.key, key),
        eq(steps.status, 'open'),
        lte(steps.dueAt, sql`app_now()`),
        // A call without an outcome is for who claims it.
        or(ne(steps.kind, 'call'), isNotNull(steps.outcomeAt)),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
      ),
    );
}
