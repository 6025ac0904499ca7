import { entitlements, grants } from '@belay/db';
import { and, count, eq, isNull, ne, sql } from 'drizzle-orm';
import type { Context } from '../context.js';

/** Returns how many entitlements are held where no call reaches them: their provider's address leads to another target (R7). */
export async function countElsewhere(ctx: Context): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(entitlements)
    .where(and(eq(entitlements.elsewhere, true), ne(entitlements.state, 'absent')));
  return row?.count ?? 0;
}

/**
 * How many entitlements are still at their provider longer after their last grant ended than anybody may be silent about
 * (design §6.4). Waiting out a quarantine does not count: there the access is gone. Those that `countElsewhere` counts are left out.
 */
export async function countOverdue(ctx: Context): Promise<number> {
  const overdue = `${ctx.timing.overdue} milliseconds`;
  const [row] = await ctx.db
    .select({ count: sql<number>`count(distinct ${entitlements.id})::int` })
    .from(entitlements)
    .innerJoin(grants, and(eq(grants.entitlementId, entitlements.id), isNull(grants.goneAt)))
    .where(
      sql`${entitlements.state} <> 'absent' and not ${entitlements.elsewhere}
        and least(coalesce(${grants.endedAt}, ${grants.expiresAt}), ${grants.expiresAt}) < app_now() - ${overdue}::interval
        and not exists (select 1 from grants live where live.entitlement_id = ${entitlements.id}
          and live.ended_at is null and live.expires_at > app_now())`,
    );
  return row?.count ?? 0;
}
