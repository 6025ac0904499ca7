import { entitlements, grants, inOrder } from '@belay/db';
import { wakeSteps } from '@belay/engine';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { afterSuccess, type Claimed, lockClaimed } from './claimed.js';
import { decideGranted, type Held } from './decide.js';
import { ignoreRollback, recordFailure } from './record-failure.js';
import { recordLate } from './record-late.js';
import { tellMeter } from './record-together.js';
import { isLive, overAt } from './wanted.js';

/**
 * Records that the provider holds what was granted, and starts the clock of the grants that waited for it. Applies
 * only with the claim's own fence and in the expected state; otherwise another process has changed the row, and what
 * is owed stays owed (R4).
 */
export async function recordGranted(ctx: Store, claim: Claimed, held: Held): Promise<void> {
  if (held === false) {
    await recordFailure(ctx, claim, 'The provider confirmed the grant, but does not hold the access');
    return;
  }
  const next = await ctx.db
    .transaction(async (tx) => {
      // Lock order: grants before entitlements. If the fence below is lost, this is rolled back.
      const starting = tx
        .update(grants)
        .set({
          activatedAt: sql`app_now()`,
          expiresAt: sql`app_now() + ${grants.duration} * interval '1 millisecond'`,
        })
        .where(and(eq(grants.entitlementId, claim.id), isNull(grants.activatedAt), isLive))
        .returning({
          executionId: grants.executionId,
          userId: grants.userId,
          expiresAt: grants.expiresAt,
          seconds: sql<string>`extract(epoch from ${grants.activatedAt} - ${grants.createdAt})`,
        });
      const locking = lockClaimed(tx, claim.id);
      const [started, [row]] = await inOrder([starting, locking]);
      const facts = row && { state: row.state, lastGrantCallAt: row.lastGrantCallAt?.getTime() ?? null };
      if (!facts || row.fence !== claim.fence || decideGranted(facts, held) === null) {
        tx.rollback();
        return null;
      }
      // A grant that arrived during the call may want a later end than the provider has: ensure it again.
      const tooLate = started.some(({ expiresAt }) => expiresAt && expiresAt > claim.until);
      // The same applies when it was made due meanwhile: by an intent that this record does not activate, or by a late
      // call.
      const again = tooLate || row.disturbed;
      const recording = tx
        .update(entitlements)
        .set({
          state: again ? 'granting' : 'granted',
          ...afterSuccess,
          dueAt: again
            ? sql`app_now()`
            : sql`coalesce((select min(${overAt}) from ${grants} where ${grants.entitlementId} = ${claim.id} and ${isLive}), app_now())`,
        })
        .where(eq(entitlements.id, claim.id))
        .returning({ dueAt: entitlements.dueAt });
      const telling = appendLedger(
        tx,
        started.map((grant) => ({
          type: 'entitlement.granted',
          message: `${claim.identity} holds the access at ${claim.provider} until ${grant.expiresAt?.toISOString()}`,
          actor: { kind: 'system' as const, name: 'reconcile' },
          userId: grant.userId,
          provider: claim.provider,
          executionId: grant.executionId,
          entitlementId: claim.id,
          data: { verified: held === true },
        })),
      );
      const [[recorded]] = await inOrder([recording, telling]);
      return { dueAt: recorded?.dueAt, started, executionIds: started.map((grant) => grant.executionId) };
    })
    .catch(ignoreRollback);
  ctx.crashpoint('grant recorded');
  if (!next) return recordLate(ctx, claim);
  tellMeter(ctx, 'grant', next.started);
  if (next.dueAt) {
    const { id, provider } = claim;
    ctx.waker.wake([{ queue: 'entitlements', entitlementId: id, provider, dueAt: next.dueAt }]);
  }
  await wakeSteps(ctx, next.executionIds);
}
