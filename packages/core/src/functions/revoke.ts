import { grants, type Transaction } from '@belay/db';
import {
  advanceStep,
  type CallFunction,
  type Locked,
  lockExecution,
  type Performed,
  type Progress,
  parkCall,
  parked,
} from '@belay/engine';
import { eq, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import { reconcileEntitlement } from '../access/reconcile.js';
import { isLiveIn } from '../access/wanted.js';
import type { Context, Job } from '../context.js';
import type { ElevationCall } from '../plans/input.js';

/**
 * `access.revoke`: ends the execution's grants, and resolves when they are gone at the provider (docs/architecture.md, sections 6 and 12).
 */
export const revoke = {
  async perform(ctx: Context, call: ElevationCall): Promise<Performed> {
    const jobs = await ctx.db.transaction(async (tx): Promise<Job[]> => {
      const locked = await lockExecution(tx, call.executionId, call.key);
      if (!locked?.step || locked.step.attempt !== call.attempt) return [];
      const ended = await endGrants(tx, {
        executionId: call.executionId,
        reason: 'revoked',
        actor: { kind: 'system', name: 'access.revoke' },
      });
      const dueAt = new Date(locked.now.getTime() + ctx.timing.lease);
      await parkCall(tx, call, { waitingFor: 'the revocation at the provider', dueAt, waiting: false });
      return ended;
    });
    ctx.crashpoint('revocation asked');
    await Promise.all(jobs.map((job) => (job.queue === 'entitlements' ? reconcileEntitlement(ctx, job) : undefined)));
    await advanceStep(ctx, call.executionId, call.key);
    return parked;
  },
  progress: settleRevocation,
} satisfies CallFunction;

/** Returns the outcome when all access of the execution is gone at its providers; otherwise null. */
async function settleRevocation(_ctx: Context, tx: Transaction, execution: Locked): Promise<Progress | null> {
  const [row] = await tx
    .select({
      last: sql<string | null>`max(${grants.goneAt})`,
      // Access that another live grant keeps is not waited for.
      owed: sql<number>`count(*) filter (where ${grants.goneAt} is null and not exists (
        select 1 from grants other where other.entitlement_id = ${grants.entitlementId}
          and ${isLiveIn('other')}))::int`,
    })
    .from(grants)
    .where(eq(grants.executionId, execution.id));
  if (row && row.owed > 0) return null;
  const revokedAt = row?.last ? new Date(row.last) : execution.now;
  return { outcome: { ok: true, value: { revoked_at: revokedAt.toISOString() } } };
}
