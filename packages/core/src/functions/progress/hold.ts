import { type Database, grants, type Transaction } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import { isLive, isNotLapsed } from '../../access/wanted.js';
import type { Context } from '../../context.js';
import type { Locked } from '../../executions/runtime/lock.js';
import type { Progress } from './progress.js';

/** Whether the execution's grants have all ended, by time or early. */
export async function settleHold(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const { last, reason } = await readHold(tx, execution.id);
  return last ? null : { outcome: { ok: true, value: { ended: true, reason } } };
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
  const over = row?.granted ? 'expired' : 'nothing was granted';
  return { last: row?.last ? new Date(row.last) : null, reason: row?.reason ?? over };
}
