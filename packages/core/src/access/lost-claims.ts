import { type Database, entitlements } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { isOutage } from '../outage.js';

/** How long to wait before the database is asked again, in milliseconds. */
const pause = 1_000;

/** Claims of this process that it never heard of, by their ids, and until when they may hold a lease. */
const lost = new WeakMap<Database, Map<string, number>>();

/**
 * Gives back a claim whose answer was lost, as soon as the database answers: it may have been committed, and only the process that
 * chose its id knows that no call was begun for it. The same as if its lease had ended. Returns at once; looks again and again until
 * it is found or its lease is over, because a statement may reach the database after its connection was given up.
 */
export function freeLostClaim(ctx: Context, claimId: string): void {
  const until = ctx.clock().getTime() + ctx.timing.lease;
  const claims = lost.get(ctx.db);
  if (claims) {
    claims.set(claimId, until);
    return;
  }
  const first = new Map([[claimId, until]]);
  lost.set(ctx.db, first);
  void freeAll(ctx, first);
}

async function freeAll(ctx: Context, claims: Map<string, number>): Promise<void> {
  while (claims.size > 0) {
    try {
      for (const claimId of await free(ctx, [...claims.keys()])) claims.delete(claimId);
    } catch (error) {
      if (!isOutage(error)) ctx.log.warn({ error }, 'claims could not be given back; their leases end');
    }
    const now = ctx.clock().getTime();
    for (const [claimId, until] of claims) if (until <= now) claims.delete(claimId);
    if (claims.size > 0) await ctx.delay(pause);
  }
  lost.delete(ctx.db);
}

/** Returns the ids of those that were found; all rows of a claim are found together. */
async function free(ctx: Context, claimIds: readonly string[]): Promise<Set<string>> {
  const lease = sql`${`${ctx.timing.lease} milliseconds`}::interval`;
  // A claim makes due at the end of its lease, so the index of due rows leads to those that may be meant. The fence tells
  // a later claim of a version that writes no ids.
  const freed = await ctx.db.execute<{ id: string; provider: string; claim_id: string }>(sql`
    update ${entitlements} set lease_until = null, due_at = least(due_at, app_now())
    where state <> 'absent' and due_at <= app_now() + ${lease} and lease_until > app_now()
      and split_part(claim, ' ', 1) = any(${`{${claimIds.join(',')}}`}::text::text[])
      and split_part(claim, ' ', 2) = fence::text
    returning id, provider, split_part(claim, ' ', 1) as claim_id`);
  if (freed.length > 0) ctx.log.info({ count: freed.length }, 'claims whose answers were lost are given back');
  ctx.waker.wake(freed.map(({ id, provider }) => ({ queue: 'entitlements', entitlementId: id, provider })));
  return new Set(freed.map(({ claim_id }) => claim_id));
}
