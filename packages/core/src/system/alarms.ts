import { disabledChannels, entitlements, ledger, messages, reviews, steps, targets } from '@belay/db';
import { and, count, countDistinct, eq, gt, isNotNull, ne, notExists, sql } from 'drizzle-orm';
import { overdueOf } from '../access/overdue.js';
import type { Store } from '../context.js';

/** Returns how many entitlements cannot be reached because the address of their provider leads to another target (R7), or to a copy of it. */
export async function countElsewhere(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(entitlements)
    .where(and(eq(entitlements.elsewhere, true), ne(entitlements.state, 'absent')));
  return row?.count ?? 0;
}

/** Returns how many targets have a server that is not believed, without those whose entitlements `countElsewhere` counts. */
export async function countDoubted(ctx: Store): Promise<number> {
  const counted = ctx.db
    .select({ one: sql`1` })
    .from(entitlements)
    .where(
      and(eq(entitlements.target, targets.target), eq(entitlements.elsewhere, true), ne(entitlements.state, 'absent')),
    );
  const [row] = await ctx.db
    .select({ count: count() })
    .from(targets)
    .where(and(isNotNull(targets.doubt), notExists(counted)));
  return row?.count ?? 0;
}

/**
 * Returns how many revocations are overdue (docs/architecture.md, section 8). Those that `countElsewhere` counts are
 * left out.
 */
export async function countOverdue(ctx: Store): Promise<number> {
  const { owed, back, isOverdue } = overdueOf(ctx);
  // Not together: for their union PostgreSQL would read every entitlement that is held.
  const counts = [owed.as('over'), back.as('over')].map((over) =>
    ctx.db
      .select({ count: count() })
      .from(over)
      .innerJoin(entitlements, eq(entitlements.id, over.id))
      .where(and(isOverdue(over.id), eq(entitlements.elsewhere, false))),
  );
  const rows = await Promise.all(counts);
  return rows.reduce((sum, [row]) => sum + (row?.count ?? 0), 0);
}

/** Returns how many executions wait for a retry after an internal error. */
export async function countFailing(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: countDistinct(steps.executionId) })
    .from(steps)
    .where(and(eq(steps.status, 'open'), gt(steps.failures, 0)));
  return row?.count ?? 0;
}

/** Returns how many messages were given up in the last 24 hours. */
export async function countUndelivered(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(messages)
    .where(sql`${messages.failedAt} > app_now() - ${`${ctx.timing.messages.patience} milliseconds`}::interval`);
  return row?.count ?? 0;
}

/** Returns how many reviews of emergency access are overdue. */
export async function countOverdueReviews(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(reviews)
    .where(sql`${reviews.closedAt} is null and ${reviews.dueAt} < app_now()`);
  return row?.count ?? 0;
}

/** Returns how many channels are disabled because their receiver accepts no more messages. */
export async function countDisabledChannels(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(disabledChannels)
    .where(eq(disabledChannels.catalogVersion, ctx.catalog.current().version));
  return row?.count ?? 0;
}

/**
 * Returns how long the deletion of the oldest month of the ledger is overdue, in seconds: the month was not archived, or a request
 * of that month is not over. Returns 0 without `server.retention.ledger`.
 */
export async function readArchiveOverdue(ctx: Store): Promise<number> {
  const after = ctx.catalog.current().retention.ledger;
  if (after === null) return 0;
  const end = sql`(date_trunc('month', min(${ledger.at}) at time zone 'UTC') + interval '1 month') at time zone 'UTC'`;
  const [row] = await ctx.db
    .select({
      seconds: sql<number>`coalesce(greatest(0,
        extract(epoch from app_now() - ${`${after} milliseconds`}::text::interval - ${end})), 0)::float8`,
    })
    .from(ledger);
  return row?.seconds ?? 0;
}
