import { grants, type Transaction } from '@belay/db';
import type { Locked, Progress } from '@belay/engine';
import { eq, sql } from 'drizzle-orm';
import type { Context } from '../../context.js';

/** Whether everything the execution was granted is gone at the provider. */
export async function settleRevocation(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const [row] = await tx
    .select({
      last: sql<string | null>`max(${grants.goneAt})`,
      // What another live grant keeps is not ours to wait for.
      owed: sql<number>`count(*) filter (where ${grants.goneAt} is null and not exists (
        select 1 from grants other where other.entitlement_id = ${grants.entitlementId}
          and other.ended_at is null and other.expires_at > app_now()))::int`,
    })
    .from(grants)
    .where(eq(grants.executionId, execution.id));
  if (row && row.owed > 0) return null;
  const revokedAt = row?.last ? new Date(row.last) : execution.now;
  return { outcome: { ok: true, value: { revoked_at: revokedAt.toISOString() } } };
}
