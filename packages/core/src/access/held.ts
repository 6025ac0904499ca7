import { type Database, grants, type Transaction } from '@belay/db';
import { settleParked } from '@belay/engine';
import { and, eq, sql } from 'drizzle-orm';
import { isLive, isNotLapsed, overAt } from './wanted.js';

/** The reason that a workflow reads when there was no grant. */
const nothing = 'nothing was granted';

/**
 * Stores the outcome of an execution's parked `access.hold` calls when none of its grants is live, in one statement.
 * Returns the keys of these calls, and the other parked calls. The caller holds the execution's lock.
 */
export function settleHolds(tx: Transaction, executionId: string): ReturnType<typeof settleParked> {
  return settleParked(tx, executionId, {
    call: 'access.hold',
    outcome: sql`
      select case when max(${overAt}) filter (where ${isLive}) is null then
        jsonb_build_object('ok', true, 'value', jsonb_build_object('ended', true, 'reason',
          coalesce(min(${grants.endedReason}), case when count(*) > 0 then 'expired' else ${nothing} end))) end as outcome
      from ${grants} where ${grants.executionId} = ${executionId} and ${isNotLapsed}`,
  });
}

/**
 * Returns when the last live grant of an execution expires, null when none is live, and the reason for the end of access
 * that its workflow reads.
 */
export async function readHold(
  tx: Database | Transaction,
  executionId: string,
): Promise<{ last: Date | null; reason: string }> {
  const [row] = await tx
    .select({
      last: sql<string | null>`max(${overAt}) filter (where ${isLive})`,
      reason: sql<string | null>`min(${grants.endedReason})`,
      granted: sql<boolean>`count(*) > 0`,
    })
    .from(grants)
    .where(and(eq(grants.executionId, executionId), isNotLapsed));
  const over = row?.granted ? 'expired' : nothing;
  return { last: row?.last ? new Date(row.last) : null, reason: row?.reason ?? over };
}
