import { entitlements, grants, inOrder } from '@belay/db';
import { wakeSteps } from '@belay/engine';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { afterSuccess, type Claimed, lockClaimed } from './claimed.js';
import { decideRevoked, type Held } from './decide.js';
import { recordFailure } from './record-failure.js';
import { recordLate } from './record-late.js';
import { tellMeter } from './record-together.js';
import { isLive, isOver } from './wanted.js';

/**
 * Records that the provider no longer holds what was revoked. R5 decides whether that settles it, or whether a second
 * revoke is owed when no grant call can still be running. Applies only with the claim's own fence.
 */
export async function recordRevoked(ctx: Store, claim: Claimed, held: Held): Promise<void> {
  if (held === true) {
    await recordFailure(ctx, claim, 'The provider confirmed the revocation, but still holds the access');
    return;
  }
  const over = and(eq(grants.entitlementId, claim.id), isNull(grants.goneAt), isOver);
  const next = await ctx.db.transaction(async (tx) => {
    // Lock order: grants before entitlements; otherwise this could deadlock with a process that ends one of them
    // exactly at its expiry.
    const [, [row], live] = await inOrder([
      tx.select({ id: grants.id }).from(grants).where(over).for('update'),
      lockClaimed(tx, claim.id),
      // A separate statement, because a statement that waits for the lock sees the rows from before the wait.
      tx
        .select({ id: grants.id })
        .from(grants)
        .where(and(eq(grants.entitlementId, claim.id), isLive))
        .limit(1),
    ]);
    if (!row || row.fence !== claim.fence) return 'late';
    const decision = decideRevoked(
      { state: row.state, lastGrantCallAt: row.lastGrantCallAt?.getTime() ?? null },
      {
        startedAt: claim.startedAt.getTime(),
        wanted: live.length > 0,
        disturbed: row.disturbed,
        quarantine: ctx.timing.quarantine,
      },
    );
    if (!decision) return null;
    const dueAt = decision.state === 'revoking' ? new Date(decision.notBefore) : null;
    const settling = tx
      .update(entitlements)
      .set({
        state: decision.state === 'again' ? 'revoking' : decision.state,
        ...afterSuccess,
        dueAt: dueAt ?? sql`app_now()`,
        ...(decision.state === 'absent' ? { lastGrantCallAt: null } : {}),
      })
      .where(eq(entitlements.id, claim.id));
    if (decision.state === 'granting' || decision.state === 'again') {
      await settling;
      return { again: true, dueAt: null, gone: [], executionIds: [] };
    }
    const going = tx
      .update(grants)
      .set({ goneAt: sql`app_now()` })
      .where(over)
      .returning({
        executionId: grants.executionId,
        userId: grants.userId,
        seconds: sql<string>`extract(epoch from ${grants.goneAt} - least(${grants.endedAt}, ${grants.expiresAt}))`,
      });
    const [, gone] = await inOrder([settling, going]);
    await appendLedger(
      tx,
      gone.map((grant) => ({
        type: 'entitlement.revoked',
        message: `${claim.identity} no longer holds the access at ${claim.provider}`,
        actor: { kind: 'system' as const, name: 'reconcile' },
        userId: grant.userId,
        provider: claim.provider,
        executionId: grant.executionId,
        entitlementId: claim.id,
        data: { verified: held === false },
      })),
    );
    return { again: false, dueAt, gone, executionIds: gone.map((grant) => grant.executionId) };
  });
  ctx.crashpoint('revoke recorded');
  if (next === 'late') return recordLate(ctx, claim);
  if (!next) return;
  tellMeter(ctx, 'revoke', next.gone);
  const job = { queue: 'entitlements', entitlementId: claim.id, provider: claim.provider } as const;
  if (next.again) ctx.waker.wake([job]);
  if (next.dueAt) ctx.waker.wake([{ ...job, dueAt: next.dueAt }]);
  await wakeSteps(ctx, next.executionIds);
}
