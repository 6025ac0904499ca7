import { entitlements, grants, inOrder, type Transaction } from '@belay/db';
import type { Authorizer, Json } from '@belay/providers';
import { and, eq, isNull, lte, ne, or, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { authorizerOf, publicMessage } from './authorizer.js';
import type { Claimed } from './claimed.js';
import { decideClaim, type Held } from './decide.js';
import { readHeld } from './read-held.js';
import { recordFailure } from './record-failure.js';
import { recordGranted } from './record-granted.js';
import { recordRevoked } from './record-revoked.js';
import { pinResting, type Resting, referTo } from './refer.js';
import { isLive } from './wanted.js';

/**
 * Makes one provider match the rows for one entitlement: claims it, calls the provider, reads back, records. Nothing to
 * claim is success. A call's error is written down and tried again later; a revoke never gives up (design §6.2).
 */
export async function reconcileEntitlement(ctx: Context, input: { entitlementId: string }): Promise<void> {
  const claimingAt = ctx.clock().getTime();
  const claim = await claimEntitlement(ctx, input.entitlementId, claimingAt);
  ctx.crashpoint('entitlement claimed');
  if (!claim) return;
  if (claim.task === 'rest') return pinResting(ctx, claim);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  let held: Held;
  try {
    const authorizer: Authorizer = authorizerOf(ctx, claim.provider, claim.task);
    const named = await referTo(ctx, authorizer, claim, signal);
    const reference = claim.generation === null ? named : { ...named, generation: claim.generation };
    // A call that could outlast the lease would land beside that of the next worker: it is not begun.
    if (ctx.clock().getTime() - claim.claimingAt > ctx.timing.lease - ctx.timing.callTimeout)
      return release(ctx, claim);
    if (claim.task === 'grant') await authorizer.ensurePresent(reference, claim.until, signal);
    else await authorizer.ensureAbsent(reference, signal);
    ctx.crashpoint(`${claim.task} called`);
    // R6: what counts is what the provider says now, not that the call returned; one that cannot say has settled nothing.
    held = await readHeld(authorizer, reference, signal);
  } catch (error) {
    await recordFailure(ctx, claim, publicMessage(error), error);
    return;
  }
  if (claim.task === 'grant') await recordGranted(ctx, claim, held);
  else await recordRevoked(ctx, claim, held);
}

/** Takes the lease, raises the fence and commits what is about to be done, before it is done (R1, R4). */
async function claimEntitlement(ctx: Context, id: string, claimingAt: number): Promise<Claimed | Resting | null> {
  const leaseEnd = sql<Date>`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`;
  return ctx.db.transaction(async (tx) => {
    const locking = tx
      .select({
        id: entitlements.id,
        provider: entitlements.provider,
        identity: entitlements.identity,
        access: entitlements.access,
        target: entitlements.target,
        subject: entitlements.subject,
        state: entitlements.state,
        fence: entitlements.fence,
        failures: entitlements.failures,
        lastGrantCallAt: entitlements.lastGrantCallAt,
        dueAt: entitlements.dueAt,
        now: sql<string>`app_now()`,
      })
      .from(entitlements)
      .where(
        and(
          eq(entitlements.id, id),
          ne(entitlements.state, 'absent'),
          lte(entitlements.dueAt, sql`app_now()`),
          or(isNull(entitlements.leaseUntil), lte(entitlements.leaseUntil, sql`app_now()`)),
        ),
      )
      .for('update');
    // The grants are read when the lock is held.
    const [[row], [times]] = await inOrder([locking, readingLive(ctx, tx, id)]);
    if (!row) return null;
    const live = { nextExpiry: asDate(times?.nextExpiry), until: asDate(times?.until) };
    const now = new Date(row.now);
    const facts = { state: row.state, lastGrantCallAt: row.lastGrantCallAt?.getTime() ?? null };
    const decision = decideClaim(facts, live.until !== null);
    if (decision.do === 'nothing') return null;
    if (decision.do === 'rest') {
      await tx
        .update(entitlements)
        .set({ dueAt: live.nextExpiry ?? now })
        .where(eq(entitlements.id, id));
      return row.target === null ? { ...row, task: 'rest' } : null;
    }
    const task = decision.do;
    const changed = task === 'revoke' && row.state !== 'revoking';
    const [, expired] = await inOrder([
      tx
        .update(entitlements)
        .set({
          state: task === 'grant' ? 'granting' : 'revoking',
          fence: row.fence + 1,
          leaseUntil: leaseEnd,
          dueAt: leaseEnd,
          ...(task === 'grant' ? { lastGrantCallAt: sql`app_now()` } : {}),
          ...(changed ? { failures: 0 } : {}),
        })
        .where(eq(entitlements.id, id)),
      changed ? readingExpired(tx, id) : undefined,
    ]);
    if (expired) await announceExpiry(tx, row, expired);
    return {
      ...row,
      pin: row.target === null ? null : { target: row.target, subject: row.subject as Json },
      fence: row.fence + 1,
      generation: (task === 'grant' ? now : row.lastGrantCallAt)?.toISOString() ?? null,
      failures: changed ? 0 : row.failures,
      startedAt: now,
      task,
      until: live.until ?? now,
      claimingAt,
    };
  });
}

/** Gives a claim back that was made too long ago to act on; the next claim has a whole lease. */
async function release(ctx: Context, claim: Claimed): Promise<void> {
  ctx.log.warn(
    { entitlement: claim.id, provider: claim.provider },
    `too little of the lease is left for the ${claim.task} call`,
  );
  const released = await ctx.db
    .update(entitlements)
    .set({ leaseUntil: null, dueAt: sql`app_now()` })
    .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence)))
    .returning({ id: entitlements.id });
  if (released.length > 0) {
    const { id, provider, task } = claim;
    ctx.waker.wake([{ queue: 'entitlements', entitlementId: id, provider, task }]);
  }
}

function readingLive(ctx: Context, tx: Transaction, entitlementId: string) {
  return tx
    .select({
      nextExpiry: sql<string | null>`min(${grants.expiresAt})`,
      until: sql<string | null>`max(case when ${grants.activatedAt} is null
        then app_now() + (${grants.duration} + ${ctx.timing.callTimeout}) * interval '1 millisecond'
        else ${grants.expiresAt} end)`,
    })
    .from(grants)
    .where(and(eq(grants.entitlementId, entitlementId), isLive));
}

const asDate = (text: string | null | undefined) => (text ? new Date(text) : null);

function readingExpired(tx: Transaction, entitlementId: string) {
  return tx
    .select({ executionId: grants.executionId, userId: grants.userId })
    .from(grants)
    .where(
      and(
        eq(grants.entitlementId, entitlementId),
        isNull(grants.goneAt),
        isNull(grants.endedAt),
        lte(grants.expiresAt, sql`app_now()`),
      ),
    );
}

/** Tells the ledger that grants have run out, when their revocation begins; early ends tell it themselves. */
async function announceExpiry(
  tx: Transaction,
  row: { id: string; provider: string; identity: string },
  expired: readonly { executionId: string; userId: string }[],
): Promise<void> {
  await appendLedger(
    tx,
    expired.map(
      (grant): LedgerEntry => ({
        type: 'grant.expired',
        message: `The time at ${row.provider} is over for ${row.identity}`,
        actor: { kind: 'system', name: 'reconcile' },
        userId: grant.userId,
        provider: row.provider,
        executionId: grant.executionId,
        entitlementId: row.id,
      }),
    ),
  );
}
