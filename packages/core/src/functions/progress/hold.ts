import { type Database, grants, type Transaction } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import { isLive, isNotLapsed } from '../../access/wanted.js';
import type { Context } from '../../context.js';
import type { Locked } from '../../executions/runtime/lock.js';
import type { Progress } from './progress.js';

/** Whether the execution's grants have all ended, by time or early. */
export async function settleHold(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  if (await lastExpiry(tx, execution.id)) return null;
  return { outcome: { ok: true, value: { ended: true, reason: await endReason(tx, execution.id) } } };
}

/** When the last live grant of an execution expires; null when none is live. */
export async function lastExpiry(tx: Database | Transaction, executionId: string): Promise<Date | null> {
  const [row] = await tx
    .select({ last: sql<string | null>`max(${grants.expiresAt})` })
    .from(grants)
    .where(and(eq(grants.executionId, executionId), isLive));
  return row?.last ? new Date(row.last) : null;
}

/** Why they ended, in one word for the workflow. */
export async function endReason(tx: Database | Transaction, executionId: string): Promise<string> {
  const rows = await tx
    .select({ reason: grants.endedReason })
    .from(grants)
    .where(and(eq(grants.executionId, executionId), isNotLapsed));
  if (rows.length === 0) return 'nothing was granted';
  return rows.find((row) => row.reason !== null)?.reason ?? 'expired';
}
