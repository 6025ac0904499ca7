import { grants } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { isLiveIn } from '../access/wanted.js';

/**
 * `ended`: over, and not yet verified as removed at the provider; `gone`: verified; `failed`: never was, and what the provider
 * holds is another grant's. A call that failed may have landed (R4), so every other grant that failed is `ended` until it is gone.
 */
export type GrantState = 'granting' | 'active' | 'ended' | 'gone' | 'failed';

/** Whether a grant failed beside another one that keeps the access: then nothing is to be taken away. */
export const failedBeside: SQL<boolean> = sql<boolean>`(${grants}.ended_reason = 'failed' and exists (
  select from ${grants} as other
  where other.entitlement_id = ${grants}.entitlement_id and ${isLiveIn('other')}))`;

/** Returns where a grant is in its life. */
export function grantState(
  grant: {
    activatedAt: Date | null;
    endedAt: Date | null;
    goneAt: Date | null;
    expiresAt: Date | null;
    activateBy: Date | null;
    failedBeside: boolean | null;
  },
  now: Date,
): GrantState {
  if (grant.goneAt) return 'gone';
  if (grant.failedBeside) return 'failed';
  const overAt = grant.expiresAt ?? grant.activateBy;
  if (grant.endedAt || (overAt && overAt.getTime() <= now.getTime())) return 'ended';
  return grant.activatedAt ? 'active' : 'granting';
}
