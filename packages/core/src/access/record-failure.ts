import { pauseAfter } from '@belay/contract/back-off';
import { cutText, toStorable } from '@belay/contract/text';
import { entitlements, grants, inOrder } from '@belay/db';
import { wakeSteps } from '@belay/engine';
import { OtherTarget, Pending, Renamed, saidBy, TargetDoubted, Terminal } from '@belay/providers';
import { and, eq, isNull, type SQL, sql, TransactionRollbackError } from 'drizzle-orm';
import { leftToOthers } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import type { Timing } from '../timing.js';
import type { Claimed } from './claimed.js';
import { recordLate } from './record-late.js';
import { namesWith } from './rows.js';
import { isLive } from './wanted.js';

/**
 * Each of the `first` failures is in the ledger, then one in `then` and each with another message than the failure
 * before it: a target that is gone for good must not fill the ledger.
 */
const told = { first: 10, then: 20 };

/**
 * Records that a call failed, and when to try again. R4: this changes nothing about what is owed; a grant call that failed
 * may still have taken effect. A grant that the provider rejects permanently is ended, so that its entitlement is revoked; a
 * revoke is retried without end, even when the provider rejects it. An overtaken call is repeated immediately. A provider
 * that is still working on an operation (`Pending`) is recorded without a failure, and called again later.
 */
export async function recordFailure(
  ctx: Store,
  claim: Claimed,
  message: string,
  { error, overtaken = false }: { error?: unknown; overtaken?: boolean } = {},
): Promise<void> {
  const refused = claim.task === 'grant' && error instanceof Terminal;
  const said = saidBy(error);
  const pending = error instanceof Pending;
  if (pending) ctx.log.info({ entitlement: claim.id, provider: claim.provider }, `${claim.task}: ${message}`);
  else
    ctx.log.warn(
      { entitlement: claim.id, provider: claim.provider, failures: claim.failures + 1, error, ...(said && { said }) },
      `the ${claim.task} call failed: ${message}`,
    );
  const next = await ctx.db
    .transaction(async (tx) => {
      const waiting = and(
        eq(grants.entitlementId, claim.id),
        isNull(grants.goneAt),
        // An active grant stays: the access is held, and only its extension failed.
        ...(claim.task === 'grant' ? [isNull(grants.activatedAt), isNull(grants.endedAt)] : []),
      );
      const who = { executionId: grants.executionId, userId: grants.userId };
      // Lock order: grants before entitlements. What is wanted and owed is read when the entitlement's lock is held.
      const [affected, [row], [now]] = await inOrder([
        refused
          ? tx.update(grants).set({ endedAt: sql`app_now()`, endedReason: 'failed' }).where(waiting).returning(who)
          : tx.select(who).from(grants).where(waiting),
        tx
          .select({ fence: entitlements.fence, lastError: entitlements.lastError, pending: entitlements.pending })
          .from(entitlements)
          .where(eq(entitlements.id, claim.id))
          .for('update'),
        tx
          .select({
            wanted: sql<boolean>`coalesce(bool_or(${isLive}), false)`,
            owed: sql<boolean>`coalesce(bool_or(${grants.goneAt} is null and not (${isLive})), false)`,
          })
          .from(grants)
          .where(eq(grants.entitlementId, claim.id)),
      ]);
      if (row?.fence !== claim.fence) {
        tx.rollback();
        return null;
      }
      const { wanted, owed } = now ?? { wanted: false, owed: false };
      // Access that is no longer wanted is revoked immediately, and access that is wanted again is granted immediately.
      // A rejected grant is revoked immediately, unless no grant ended here: then an active grant keeps the access.
      const turned = (claim.task === 'grant') !== wanted || (refused && affected.length > 0);
      const failures = turned || pending ? 0 : claim.failures + 1;
      const how = { failures, pending, owed, wish: wishOf(error) };
      const wait = turned || overtaken ? 0 : waitAfter(ctx.timing, claim.task, how);
      const [still] = await tx
        .update(entitlements)
        .set({
          failures,
          lastError: pending ? null : message,
          said: said === undefined ? null : cutText(toStorable(said), 500),
          pending: pending ? message : null,
          // R7: an alarm from now until a call has succeeded, also when other errors follow.
          ...(error instanceof OtherTarget || error instanceof TargetDoubted ? { elsewhere: true } : {}),
          leftToOthers: leftToOthers(error),
          ...(error instanceof Renamed ? { names: namesWith(entitlements.names, namesOf(error)) } : {}),
          leaseUntil: null,
          dueAt: sql`app_now() + ${`${wait} milliseconds`}::interval`,
        })
        .where(eq(entitlements.id, claim.id))
        .returning({ dueAt: entitlements.dueAt });
      // A running operation is reported once, regardless of the number of checks.
      const tell = pending
        ? row.pending === null
        : failures <= told.first || failures % told.then === 0 || row.lastError !== message;
      const entry = pending ? pendingEntry(claim, message) : failedEntry(claim, message, { refused, wait });
      await appendLedger(
        tx,
        (tell ? affected : []).map((grant) => ({ ...entry, userId: grant.userId, executionId: grant.executionId })),
      );
      return { dueAt: still?.dueAt, wanted, executionIds: affected.map((grant) => grant.executionId) };
    })
    .catch(ignoreRollback);
  ctx.crashpoint('failure recorded');
  if (!next) return recordLate(ctx, claim);
  if (next.dueAt) {
    const { id, provider } = claim;
    const task = next.wanted ? 'grant' : 'revoke';
    ctx.waker.wake([{ queue: 'entitlements', entitlementId: id, provider, task, dueAt: next.dueAt }]);
  }
  await wakeSteps(ctx, next.executionIds);
}

/** Returns, as SQL, the list of the name that a provider has for an identity now. */
function namesOf({ present: { identity, access } }: Renamed): SQL {
  return sql`${JSON.stringify([{ identity, access }])}::text::jsonb`;
}

type Entry = Omit<LedgerEntry, 'userId' | 'executionId'>;

function pendingEntry({ id, task, provider }: Claimed, message: string): Entry {
  return {
    type: task === 'grant' ? 'entitlement.grant_pending' : 'entitlement.revoke_pending',
    message: `Waiting for the provider ${provider} to ${task}: ${message}`,
    actor: { kind: 'system', name: 'reconcile' },
    provider,
    entitlementId: id,
  };
}

function failedEntry(
  { id, task, provider, failures }: Claimed,
  message: string,
  { refused, wait }: { refused: boolean; wait: number },
): Entry {
  return {
    type: task === 'grant' ? 'entitlement.grant_failed' : 'entitlement.revoke_failed',
    level: task === 'grant' && !refused ? 'warning' : 'error',
    message: `${task === 'grant' ? 'Granting' : 'Revoking'} at ${provider} failed${refused ? '' : ' and is retried'}: ${message}`,
    actor: { kind: 'system', name: 'reconcile' },
    provider,
    entitlementId: id,
    data: { failures: failures + 1, ...(refused ? {} : { retry_in_milliseconds: wait }) },
  };
}

/**
 * Returns how long to wait, in milliseconds. A pause that the provider requests counts up to the longest pause of the
 * back-off, which is shorter while access exists that should be gone.
 */
function waitAfter(
  timing: Timing,
  task: Claimed['task'],
  how: { failures: number; pending: boolean; owed: boolean; wish: number },
): number {
  const backoff = task === 'revoke' ? timing.revokeBackoff : timing.grantBackoff;
  const last = task === 'revoke' && how.owed ? timing.revokeBackoff.overdue : backoff.last;
  if (how.pending) return Math.min(last, Math.max(how.wish, timing.pending));
  return Math.min(last, Math.max(how.wish, pauseAfter(backoff, how.failures)));
}

/** Returns the pause that a connector's error requests, in milliseconds. */
function wishOf(error: unknown): number {
  if (!(error instanceof Error) || !('options' in error)) return 0;
  return (error.options as { afterMilliseconds?: number } | undefined)?.afterMilliseconds ?? 0;
}

/**
 * Returns null for the rollback of a record whose fence was lost: another process has changed the row, which is normal.
 * Throws every other error.
 */
function ignoreRollback(error: unknown): null {
  if (error instanceof TransactionRollbackError) return null;
  throw error;
}
