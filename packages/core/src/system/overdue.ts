import { entitlements, grants } from '@belay/db';
import { and, count, eq, isNull, ne, notExists, sql } from 'drizzle-orm';
import { isLive, overAt } from '../access/wanted.js';
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
 * Returns how many entitlements are still at their provider longer after their last grant ended than the alarm permits
 * (docs/architecture.md, section 8). Waiting for a quarantine does not count, because the access is gone then. Those
 * that `countElsewhere` counts are left out.
 */
export async function countOverdue(ctx: Store): Promise<number> {
  const overdue = `${ctx.timing.overdue} milliseconds`;
  const over = ctx.db
    .selectDistinct({ id: grants.entitlementId })
    .from(grants)
    .where(and(isNull(grants.goneAt), sql`least(${grants.endedAt}, ${overAt}) < app_now() - ${overdue}::interval`))
    .as('over');
  const live = ctx.db
    .select({ one: sql`1` })
    .from(grants)
    .where(and(eq(grants.entitlementId, over.id), isLive));
  const [row] = await ctx.db
    .select({ count: count() })
    .from(over)
    .innerJoin(entitlements, eq(entitlements.id, over.id))
    .where(and(ne(entitlements.state, 'absent'), eq(entitlements.elsewhere, false), notExists(live)));
  return row?.count ?? 0;
}
