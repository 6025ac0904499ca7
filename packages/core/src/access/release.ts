import { entitlements } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import type { Claimed } from './claimed.js';

/** Gives a claim back that was made too long ago to act on; the next claim has a whole lease. */
export async function release(ctx: Context, claim: Claimed): Promise<void> {
  ctx.log.warn(
    { entitlement: claim.id, provider: claim.provider },
    `too little of the lease is left for the ${claim.task} call`,
  );
  const released = await ctx.db
    .update(entitlements)
    .set({ leaseUntil: null, dueAt: sql`app_now()` })
    .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence)))
    .returning({ id: entitlements.id });
  const { id, provider, task } = claim;
  if (released.length > 0) ctx.waker.wake([{ queue: 'entitlements', entitlementId: id, provider, task }]);
}
