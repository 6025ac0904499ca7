import { AccessError } from '@belay/contract/errors';
import { driftAudits, entitlements, execute, restores, type SqlText, sqlText, type Transaction } from '@belay/db';
import { getTableColumns, gt, isNotNull, sql } from 'drizzle-orm';
import type { Store } from '../../context.js';

/**
 * Matches while no grant may be claimed, because the database was restored and the restore has not ended (`reopen`).
 */
export const grantsWait: SqlText = sqlText`exists (select from ${restores} where ${restores.closedAt} is not null)`;

export interface Gate {
  /** The number of the restore. */
  epoch: number;
  closedAt: Date;
  reason: string;
  /** Whether Belay closed it by itself (`noticeRestore`). */
  noticed: boolean;
  /** Whether calls that were claimed before the gate was closed have ended. */
  settled: boolean;
}

/** Returns the restore that grants wait for; null while grants are permitted. */
export async function readGate(ctx: Store): Promise<Gate | null> {
  const settled = sql<boolean>`${restores.closedAt} <= app_now() - ${`${ctx.timing.lease} milliseconds`}::interval`;
  const [row] = await ctx.db.select({ ...getTableColumns(restores), settled }).from(restores);
  if (!row?.closedAt) return null;
  const { epoch, closedAt, reason, noticed } = row;
  return { epoch, closedAt, reason, noticed, settled: row.settled };
}

/**
 * Stops all grants until the restore ends (`reopen`); every provider is compared anew. `by` is the administrator who began it.
 * The restored rows do not show the grant calls of later, so each that is not absent counts one more as open (R5). Returns the
 * number of the restore.
 */
export async function closeGate(
  tx: Transaction,
  { reason, noticed, by }: Pick<Gate, 'reason' | 'noticed'> & { by?: string },
): Promise<number> {
  const closed = { closedAt: sql`app_now()`, reason };
  // Only a person can end a restore that a person began.
  const still = sql`${noticed} and (${restores.closedAt} is null or ${restores.noticed})`;
  const begunBy = by === undefined ? sql`'{}'::jsonb` : sql`jsonb_build_object(${by}::text, app_now())`;
  const [begun] = await tx
    .insert(restores)
    .values({ epoch: 1, ...closed, noticed, begunBy })
    .onConflictDoUpdate({
      target: restores.one,
      set: {
        epoch: sql`${restores.epoch} + 1`,
        ...closed,
        noticed: still,
        begunBy: sql`${restores.begunBy} || ${begunBy}`,
      },
    })
    .returning({ epoch: restores.epoch });
  if (!begun) throw new Error('The restore was not written');
  await execute(
    tx,
    sqlText`
    with called as (select id from ${entitlements} where state <> 'absent' order by id for update)
    update ${entitlements} e set open_calls = e.open_calls + 1 from called where e.id = called.id`,
  );
  return begun.epoch;
}

/** Locks the restore until the transaction ends. Throws `conflict` while grants are permitted. */
export async function lockGate(tx: Transaction): Promise<{ epoch: number; noticed: boolean }> {
  const [row] = await tx
    .select({ epoch: restores.epoch, noticed: restores.noticed })
    .from(restores)
    .where(isNotNull(restores.closedAt))
    .for('update');
  if (!row) throw new AccessError('conflict', 'No restore has begun: grants are permitted');
  return row;
}

/**
 * Permits grants, and makes the grants that waited and all unclaimed revocations due now. The caller holds the lock of
 * the restore. Later drift audits are brought forward to the end of the quarantine, when calls from before the restore
 * can no longer take effect (R5): the restored rows do not show such calls.
 */
export async function reopen(ctx: Store, tx: Transaction): Promise<void> {
  await tx.update(restores).set({ closedAt: null });
  const quiet = sql`app_now() + ${`${ctx.timing.quarantine} milliseconds`}::interval`;
  await tx.update(driftAudits).set({ dueAt: quiet }).where(gt(driftAudits.dueAt, quiet));
  await tx
    .update(entitlements)
    .set({ dueAt: sql`app_now()` })
    .where(sql`${entitlements.state} in ('granting', 'revoking') and ${entitlements.leaseUntil} is null`);
}
