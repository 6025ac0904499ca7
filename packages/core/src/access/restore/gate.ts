import { AccessError } from '@belay/contract/errors';
import { entitlements, restores, type SqlText, sqlText, type Transaction } from '@belay/db';
import { isNotNull, sql } from 'drizzle-orm';
import type { Store } from '../../context.js';

/** Matches while no grant may be claimed, because the database was restored and the providers are not compared. */
export const grantsWait: SqlText = sqlText`exists (select from ${restores} where ${restores.closedAt} is not null)`;

export interface Gate {
  /** Which restore it is, by number. */
  epoch: number;
  closedAt: Date;
  reason: string;
}

/** Returns since when grants wait after a restore; null while they are permitted. */
export async function readGate(ctx: Store): Promise<Gate | null> {
  const [row] = await ctx.db.select().from(restores);
  return row?.closedAt ? { epoch: row.epoch, closedAt: row.closedAt, reason: row.reason } : null;
}

/** Locks the restore until the transaction ends. Throws `conflict` while grants are permitted. */
export async function lockGate(tx: Transaction): Promise<{ epoch: number }> {
  const [row] = await tx
    .select({ epoch: restores.epoch })
    .from(restores)
    .where(isNotNull(restores.closedAt))
    .for('update');
  if (!row) throw new AccessError('conflict', 'No restore has begun: grants are permitted');
  return row;
}

/** Permits grants, and makes those that waited due now. The caller holds the lock of the restore. */
export async function reopen(tx: Transaction): Promise<void> {
  await tx.update(restores).set({ closedAt: null });
  await tx
    .update(entitlements)
    .set({ dueAt: sql`app_now()` })
    .where(sql`${entitlements.state} in ('granting', 'revoking') and ${entitlements.leaseUntil} is null`);
}
