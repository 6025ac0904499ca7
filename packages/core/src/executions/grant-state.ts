import type { GrantState } from '@belay/contract/executions';
import { grants } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { isLiveIn } from '../access/wanted.js';

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
