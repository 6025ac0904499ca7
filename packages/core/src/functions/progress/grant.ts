import { entitlements, grants, steps, type Transaction } from '@belay/db';
import { communicationFault, type Locked, type Progress } from '@belay/engine';
import type { Json } from '@belay/workflow';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { endGrants } from '../../access/end.js';
import { isNotLapsed } from '../../access/wanted.js';
import { approvalLifetime, readCurrentApprovals } from '../../approvals/current.js';
import { settleRenewals } from '../../approvals/settle.js';
import type { Context } from '../../context.js';
import type { ElevationInput } from '../../elevation/input.js';

/** Whether every grant of a step is active by now; a fault when one cannot be any more. */
export async function settleGrants(
  ctx: Context,
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
    .where(and(eq(grants.executionId, execution.id), eq(grants.stepKey, key), isNotLapsed))
    .orderBy(entitlements.key);
  if (rows.length === 0) return settleRenewals(tx, execution, key);
  const lost = rows.find((row) => row.over && row.activatedAt === null);
  if (lost && rows.every((row) => row.endedReason === null) && (await hasLapsed(ctx, tx, execution))) {
    await lapse(tx, execution, key);
    return null;
  }
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

async function hasLapsed(ctx: Context, tx: Transaction, execution: Locked): Promise<boolean> {
  const lifetime = approvalLifetime(ctx.catalog.current(), execution.input as ElevationInput);
  const current = await readCurrentApprovals(tx, execution.id, lifetime);
  return current.some(({ lapsed }) => lapsed);
}

/** The approval ended before the provider held the access: what was intended is taken back, and the step asks again. */
async function lapse(tx: Transaction, execution: Locked, key: string): Promise<void> {
  const own = and(eq(grants.executionId, execution.id), eq(grants.stepKey, key));
  await tx
    .update(grants)
    .set({ endedAt: sql`app_now()`, endedReason: 'lapsed' })
    .where(and(own, isNull(grants.endedAt), sql`${grants.expiresAt} <= app_now()`));
  await endGrants(tx, {
    executionId: execution.id,
    stepKeys: [key],
    reason: 'lapsed',
    actor: { kind: 'system', name: 'access.grant' },
  });
  await tx
    .update(steps)
    .set({ dueAt: sql`app_now()`, waitingFor: 'an approval: the one it had ended before the provider granted' })
    .where(and(eq(steps.executionId, execution.id), eq(steps.key, key)));
}
