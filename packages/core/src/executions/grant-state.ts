import type { GrantState } from '@belay/contract/executions';
import { grants } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { isLiveIn } from '../access/wanted.js';

/** Returns whether a grant failed while another one keeps the access: then nothing must be revoked. */
export const failedBeside: SQL<boolean> = sql<boolean>`(${grants}.ended_reason = 'failed' and exists (
  select from ${grants} as other
  where other.entitlement_id = ${grants}.entitlement_id and ${isLiveIn('other')}))`;

/** Returns the state of a grant. */
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
