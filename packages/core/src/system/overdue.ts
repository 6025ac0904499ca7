import { entitlements } from '@belay/db';
import { and, count, eq, ne } from 'drizzle-orm';
import { overdueOf } from '../access/overdue.js';
import type { Store } from '../context.js';

/** Returns how many entitlements are held out of reach: their provider's address leads to another target (R7). */
export async function countElsewhere(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(entitlements)
    .where(and(eq(entitlements.elsewhere, true), ne(entitlements.state, 'absent')));
  return row?.count ?? 0;
}

/**
 * Returns how many revocations are overdue (docs/architecture.md, section 8). Those that `countElsewhere` counts are
 * left out.
 */
export async function countOverdue(ctx: Store): Promise<number> {
  const { over, isOverdue } = overdueOf(ctx);
  const [row] = await ctx.db
    .select({ count: count() })
    .from(over)
    .innerJoin(entitlements, eq(entitlements.id, over.id))
    .where(and(isOverdue, eq(entitlements.elsewhere, false)));
  return row?.count ?? 0;
}
