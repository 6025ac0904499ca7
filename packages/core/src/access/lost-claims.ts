import { entitlements } from '@belay/db';
import { givingBack } from '@belay/engine';
import { sql } from 'drizzle-orm';
import type { Store } from '../context.js';

/** Releases a claim of entitlements whose database response was lost. */
export const freeLostClaim = givingBack(freeEntitlements);

async function freeEntitlements(ctx: Store, claimIds: readonly string[]): Promise<Set<string>> {
  const lease = sql`${`${ctx.timing.lease} milliseconds`}::interval`;
  // A claim makes its rows due at the end of its lease, so the index of due rows finds the candidates. The fence
  // distinguishes the claim from a later one by an older version of Belay, which writes no ids.
  const freed = await ctx.db.execute<{ id: string; provider: string; claim_id: string }>(sql`
    update ${entitlements} set lease_until = null, due_at = least(due_at, app_now())
    where state <> 'absent' and due_at <= app_now() + ${lease} and lease_until > app_now()
      and split_part(claim, ' ', 1) = any(${`{${claimIds.join(',')}}`}::text::text[])
      and split_part(claim, ' ', 2) = fence::text
    returning id, provider, split_part(claim, ' ', 1) as claim_id`);
  if (freed.length > 0) ctx.crashpoint('entitlement given back');
  if (freed.length > 0) ctx.log.info({ count: freed.length }, 'released claims whose database response was lost');
  ctx.waker.wake(freed.map(({ id, provider }) => ({ queue: 'entitlements', entitlementId: id, provider })));
  return new Set(freed.map(({ claim_id }) => claim_id));
}
