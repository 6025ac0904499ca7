import { entitlements, grants } from '@belay/db';
import { Terminal } from '@belay/providers';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { Claimed } from './claimed.js';
import { ignoreRollback } from './rollback.js';
import { wakeSteps } from './wake-steps.js';

/**
 * Writes down that a call failed, and when to try again. R4: it changes nothing about what is owed; a grant call that
 * failed may still have landed. A grant that the provider refuses for good is ended, so that its entitlement is revoked;
 * a revoke is tried for ever.
 */
export async function recordFailure(ctx: Context, claim: Claimed, message: string, error: unknown): Promise<void> {
  const failures = claim.failures + 1;
  const backoff = claim.task === 'revoke' ? ctx.timing.revokeBackoff : ctx.timing.grantBackoff;
  const wish =
    error instanceof Error && 'options' in error
      ? (error.options as { afterMilliseconds?: number }).afterMilliseconds
      : undefined;
  const wait = Math.min(backoff.last, Math.max(wish ?? 0, backoff.first * 2 ** Math.min(failures - 1, 16)));
  const refused = claim.task === 'grant' && error instanceof Terminal;
  ctx.log.warn(
    { entitlement: claim.id, provider: claim.provider, failures, error },
    `the ${claim.task} call failed: ${message}`,
  );
  const next = await ctx.db
    .transaction(async (tx) => {
      const waiting = and(
        eq(grants.entitlementId, claim.id),
        isNull(grants.goneAt),
        // A grant that is active stays: the access is there, and it is the extension that failed.
        ...(claim.task === 'grant' ? [isNull(grants.activatedAt), isNull(grants.endedAt)] : []),
      );
      const who = { executionId: grants.executionId, userId: grants.userId };
      const affected = refused
        ? await tx.update(grants).set({ endedAt: sql`app_now()`, endedReason: 'failed' }).where(waiting).returning(who)
        : await tx.select(who).from(grants).where(waiting);
      const [still] = await tx
        .update(entitlements)
        .set({
          failures,
          lastError: message,
          leaseUntil: null,
          // What ended here is taken away at once. When nothing did, an active grant keeps the access: no hurry to be refused again.
          dueAt: refused && affected.length > 0 ? sql`app_now()` : sql`app_now() + ${`${wait} milliseconds`}::interval`,
        })
        .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence)))
        .returning({ dueAt: entitlements.dueAt });
      if (!still) return tx.rollback();
      await appendLedger(
        tx,
        affected.map((grant) => ({
          type: claim.task === 'grant' ? 'entitlement.grant_failed' : 'entitlement.revoke_failed',
          level: claim.task === 'grant' && !refused ? ('warning' as const) : ('error' as const),
          message: `${claim.task === 'grant' ? 'Granting' : 'Revoking'} at ${claim.provider} failed${refused ? '' : ' and is tried again'}: ${message}`,
          actor: { kind: 'system' as const, name: 'reconcile' },
          userId: grant.userId,
          provider: claim.provider,
          executionId: grant.executionId,
          entitlementId: claim.id,
          data: { failures, ...(refused ? {} : { retry_in_milliseconds: wait }) },
        })),
      );
      return { dueAt: still.dueAt, executionIds: affected.map((grant) => grant.executionId) };
    })
    .catch(ignoreRollback);
  ctx.crashpoint('failure recorded');
  if (!next) return;
  ctx.waker.wake([{ queue: 'entitlements', entitlementId: claim.id, dueAt: next.dueAt }]);
  await wakeSteps(ctx, next.executionIds);
}
