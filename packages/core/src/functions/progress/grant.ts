import { entitlements, grants, steps, type Transaction } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import { endGrants } from '../../access/end.js';
import type { Context } from '../../context.js';
import type { Locked } from '../../executions/runtime/commit.js';
import { communicationFault } from '../faults.js';
import type { Progress } from './progress.js';

/** Whether every grant of a step is active by now; a fault when one cannot be any more. */
export async function settleGrants(
  _ctx: Context,
  tx: Transaction,
  execution: Locked,
  key: string,
): Promise<Progress | null> {
  const rows = await tx
    .select({
      provider: entitlements.provider,
      identity: entitlements.identity,
      access: entitlements.access,
      lastError: entitlements.lastError,
      activatedAt: grants.activatedAt,
      expiresAt: grants.expiresAt,
      endedReason: grants.endedReason,
      over: sql<boolean>`${grants.endedAt} is not null or ${grants.expiresAt} <= app_now()`,
    })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .where(and(eq(grants.executionId, execution.id), eq(grants.stepKey, key)))
    .orderBy(entitlements.key);
  if (rows.length === 0) return null;
  const lost = rows.find((row) => row.over && row.activatedAt === null);
  if (lost) {
    // All or nothing: what was granted elsewhere for this step goes away again.
    const hints = await endGrants(tx, {
      executionId: execution.id,
      stepKeys: [key],
      reason: 'failed',
      actor: { kind: 'system', name: 'access.grant' },
    });
    const detail = `${lost.provider}: ${lost.lastError ?? 'it was not reached in time'}`;
    return { outcome: { ok: false, fault: communicationFault(502, 'The access could not be granted', detail) }, hints };
  }
  const pending = rows.filter((row) => row.activatedAt === null);
  if (pending.length > 0) {
    const [first] = pending;
    const waitingFor = first?.lastError
      ? `the provider ${first.provider}: ${first.lastError}`
      : `the provider ${first?.provider}`;
    await tx
      .update(steps)
      .set({ waitingFor })
      .where(and(eq(steps.executionId, execution.id), eq(steps.key, key)));
    return null;
  }
  const started = Math.max(...rows.map((row) => row.activatedAt?.getTime() ?? 0));
  const expires = Math.min(...rows.map((row) => row.expiresAt.getTime()));
  const value: Json = {
    granted_at: new Date(started).toISOString(),
    expires_at: new Date(expires).toISOString(),
    grants: rows.map(({ provider, identity, access, expiresAt }) => ({
      provider,
      identity,
      access: access as Json,
      expires_at: expiresAt.toISOString(),
    })),
  };
  return { outcome: { ok: true, value } };
}
