import type { Context } from '../context.js';
import { claimOne } from './claim.js';
import { performClaims } from './perform.js';

/**
 * Makes one provider match the rows for one entitlement: claims it, calls the provider, reads back, records. Succeeds
 * when there is nothing to claim. A failed call is recorded and retried later; a revoke never gives up
 * (docs/architecture.md, section 6).
 */
export async function reconcileEntitlement(ctx: Context, input: { entitlementId: string }): Promise<void> {
  const claims = await claimOne(ctx, input.entitlementId);
  ctx.crashpoint('entitlement claimed');
  await performClaims(ctx, claims);
}
