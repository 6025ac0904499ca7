import { entitlements } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { Claimed } from './claimed.js';
import { decideLate } from './decide.js';

/**
 * Records a call that continued after it was aborted, or whose entitlement was claimed again or changed before its
 * result was recorded. The call may have taken effect after a later check, so the entitlement is due again immediately.
 * A worker that has the lease sees that the entitlement was made due, and repeats its call.
 */
export async function recordLate(ctx: Store, claim: Claimed): Promise<void> {
  const due = await ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .select({ state: entitlements.state, fence: entitlements.fence })
      .from(entitlements)
      .where(eq(entitlements.id, claim.id))
      .for('update');
    const state = row && decideLate(row.state, claim.task);
    if (!row || !state) return false;
    await tx.update(entitlements).set({ state, dueAt: sql`app_now()` }).where(eq(entitlements.id, claim.id));
    // The claim can still be the latest one, for example when its call went on after it was aborted.
    const late =
      row.fence === claim.fence ? 'too late for its result to be recorded' : 'after another worker had claimed it';
    await appendLedger(tx, [
      {
        type: 'entitlement.call_late',
        level: 'warning',
        message: `A ${claim.task} call for ${claim.name.identity} at ${claim.provider} finished ${late}; the access is checked again`,
        actor: { kind: 'system', name: 'reconcile' },
        provider: claim.provider,
        entitlementId: claim.id,
        data: { task: claim.task, was: row.state, fence: claim.fence, current_fence: row.fence },
      },
    ]);
    return true;
  });
  if (due) ctx.waker.wake([{ queue: 'entitlements', entitlementId: claim.id, provider: claim.provider }]);
}
