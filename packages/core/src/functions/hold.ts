import { type Database, grants, type SqlText, sqlText, type Transaction } from '@belay/db';
import { type CallFunction, done, type Locked, type Performed, type Progress, settleParked } from '@belay/engine';
import { and, eq, sql } from 'drizzle-orm';
import { isLive, isNotLapsed, overAt } from '../access/wanted.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import type { ElevationCall } from '../plans/input.js';

/**
 * `access.hold`: waits until the execution's grants have ended, by time or early (docs/architecture.md, section 12). The move that opens it parks
 * it until then (`parks`); this is for what has changed when that time comes.
 */
export const hold = {
  parks: {
    until: (executionId: SqlText) =>
      sqlText`(select max(${overAt}) from grants where grants.execution_id = ${executionId} and ${isLive})`,
    waitingFor: (until: SqlText) =>
      sqlText`'the end of the access at ' || to_char(${until} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  },
  async perform(ctx: Context, call: ElevationCall): Promise<Performed> {
    const { last, reason } = await readHold(ctx.db, call.executionId);
    if (!last) return done({ ended: true, reason });
    const now = await readNow(ctx.db);
    const because = `the end of the access at ${last.toISOString()}`;
    return { kind: 'again', after: Math.max(0, last.getTime() - now.getTime()), because };
  },
  progress: settleHold,
} satisfies CallFunction;

/** Why nothing is held, in the words of a workflow. */
const nothing = 'nothing was granted';

/** Whether the execution's grants have all ended, by time or early. */
async function settleHold(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const { last, reason } = await readHold(tx, execution.id);
  return last ? null : { outcome: { ok: true, value: { ended: true, reason } } };
}

/**
 * Keeps the outcome of the parked holds of an execution, when none of its grants is live: what `settleHold` decides, in one
 * statement. Returns their keys, and the other parked calls. The execution's lock is held.
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

/** When the last live grant of an execution expires, null when none is live; and why they ended, in one word for the workflow. */
async function readHold(
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
