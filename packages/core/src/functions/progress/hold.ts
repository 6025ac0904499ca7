import { type Database, grants, steps, type Transaction } from '@belay/db';
import type { Locked, Progress } from '@belay/engine';
import { and, eq, sql } from 'drizzle-orm';
import { isLive, isNotLapsed } from '../../access/wanted.js';
import type { Context } from '../../context.js';

/** Why nothing is held, in the words of a workflow. */
const nothing = 'nothing was granted';

/** Whether the execution's grants have all ended, by time or early. */
export async function settleHold(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const { last, reason } = await readHold(tx, execution.id);
  return last ? null : { outcome: { ok: true, value: { ended: true, reason } } };
}

/**
 * Keeps the outcome of the parked holds of an execution, when none of its grants is live: what `settleHold` decides, in one
 * statement. Returns their keys, and the other parked calls, which are to be looked at one by one. The execution's lock is held.
 */
export async function settleHolds(
  tx: Transaction,
  executionId: string,
): Promise<{ holds: string[]; others: { key: string; request: unknown }[] }> {
  const rows = await tx.execute<{ key: string; call: string; kept: boolean }>(sql`
    with held as (
      select max(${grants.expiresAt}) filter (where ${isLive}) as last,
        coalesce(min(${grants.endedReason}), case when count(*) > 0 then 'expired' else ${nothing} end) as reason
      from ${grants} where ${grants.executionId} = ${executionId} and ${isNotLapsed}),
    parked as (
      select key, request ->> 'call' as call from ${steps} where ${steps.executionId} = ${executionId} and status = 'open'
        and kind = 'call' and outcome_at is null and lease_until is null and attempt > 0),
    kept as (
      update ${steps} set due_at = app_now(), outcome_at = app_now(),
        outcome = jsonb_build_object('ok', true, 'value', jsonb_build_object('ended', true, 'reason', held.reason))
      from held, parked where ${steps.executionId} = ${executionId} and ${steps.key} = parked.key
        and parked.call = 'access.hold' and held.last is null
      returning ${steps.key} as key)
    select key, call, key in (select key from kept) as kept from parked`);
  return {
    holds: rows.flatMap(({ key, kept }) => (kept ? [key] : [])),
    others: rows.flatMap(({ key, call, kept }) => (kept ? [] : [{ key, request: { call } }])),
  };
}

/** When the last live grant of an execution expires, null when none is live; and why they ended, in one word for the workflow. */
export async function readHold(
  tx: Database | Transaction,
  executionId: string,
): Promise<{ last: Date | null; reason: string }> {
  const [row] = await tx
    .select({
      last: sql<string | null>`max(${grants.expiresAt}) filter (where ${isLive})`,
      reason: sql<string | null>`min(${grants.endedReason})`,
      granted: sql<boolean>`count(*) > 0`,
    })
    .from(grants)
    .where(and(eq(grants.executionId, executionId), isNotLapsed));
  const over = row?.granted ? 'expired' : nothing;
  return { last: row?.last ? new Date(row.last) : null, reason: row?.reason ?? over };
}
