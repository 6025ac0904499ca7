import { AccessError, notFound } from '@belay/contract/errors';
import { comparisons, entitlements, leftovers, type Transaction } from '@belay/db';
import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import { wouldBeElevated } from '../../approvals/elevated.js';
import { isExcluded } from '../../approvals/exclusion.js';
import type { Actor, ActorStore, Store } from '../../context.js';
import { isId } from '../../find-execution.js';
import { appendLedger } from '../../ledger/append.js';
import { causeOf, tellingJoins } from '../../people/joins.js';
import { foldName } from '../../people/names.js';
import { requireAdministrator } from '../../people/oversight.js';
import { listSelves } from '../../people/selves.js';
import { requireReason } from '../revoke.js';
import { namesWith } from '../rows.js';
import { type ComparisonFacts, decideOpen, decideSkip } from './decide.js';
import { lockGate, reopen } from './gate.js';
import { providersToCompare } from './status.js';

/**
 * Decides about access that a comparison found: `revoke` makes a revocation due, `keep` leaves it, in later restores
 * too. Throws `forbidden`, also for a person who would keep access of their own, `invalid`, `conflict` when no restore
 * has begun, and `not_found` when no such access waits for a decision.
 */
export async function answerLeftover(
  ctx: ActorStore,
  input: { id: string; answer: 'keep' | 'revoke'; reason: string },
): Promise<{ message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { id, answer } = input;
  if (!isId(id)) throw notFound('The access');
  if (answer === 'keep') await tellingJoins(ctx, () => refuseOwnLeftover(ctx, id));
  return ctx.db.transaction(async (tx) => {
    await lockGate(tx);
    const [found] = await tx
      .update(leftovers)
      .set({ answer })
      .where(and(eq(leftovers.id, id), isNull(leftovers.answer)))
      .returning();
    if (!found) throw notFound('The access');
    if (answer === 'revoke') await oweRevocation(tx, found);
    const { provider, identity } = found;
    const verb = answer === 'revoke' ? 'revokes' : 'keeps';
    await appendLedger(tx, [
      {
        type: answer === 'revoke' ? 'restore.revoked' : 'restore.kept',
        level: 'warning',
        message: `${nameOf(ctx.actor)} ${verb} the access of ${identity} at ${provider} after a restore: ${reason}`,
        actor: ctx.actor,
        provider,
        data: { reason, access: found.access, mark: found.mark },
      },
    ]);
    return { message: `The access of ${identity} at ${provider} is ${answer === 'revoke' ? 'being revoked' : 'kept'}` };
  });
}

async function refuseOwnLeftover(ctx: ActorStore, id: string): Promise<void> {
  const [found] = await ctx.db.select().from(leftovers).where(eq(leftovers.id, id));
  if (found) await refuseOwn(ctx, found);
}

/**
 * Throws `forbidden` when the caller would keep their own access, without an end: another administrator has to decide. `owners` are the
 * people who requested it.
 */
export async function refuseOwn(
  ctx: ActorStore,
  found: { provider: string; identity: string; owners?: readonly string[] },
): Promise<void> {
  const { actor } = ctx;
  if (actor.kind !== 'user') return;
  const selves = [actor, ...(await listSelves(ctx.db, actor.id))];
  const own = selves.filter(
    (self) => found.owners?.includes(self.id) || isExcluded([self], { excluded: [foldName(found.identity)] }),
  );
  if (own.length > 0 || (await wouldBeElevated(ctx, selves, { grants: [found] }, { lenient: true }))) {
    const message = 'You cannot keep your own access: another administrator decides about it';
    throw new AccessError('forbidden', message, causeOf(actor.id, own));
  }
}

/**
 * Makes the revocation of found access due. The access counts as granted now, so that the second revoke after the
 * quarantine (R5) also undoes a grant call that was still running. A row that is no longer absent is left unchanged.
 */
export async function oweRevocation(
  tx: Transaction,
  found: Pick<
    typeof leftovers.$inferSelect,
    'id' | 'key' | 'provider' | 'identity' | 'access' | 'target' | 'subject' | 'mark'
  >,
): Promise<void> {
  const { key, provider, identity, access, target, subject, mark } = found;
  // The names by which it was found count beside those that were committed with it.
  const names = [{ identity, access }];
  const owed = {
    state: 'revoking' as const,
    dueAt: sql`app_now()`,
    lastGrantCallAt: sql`app_now()`,
    openCalls: 1,
    failures: 0,
    lastError: null,
    pending: null,
  };
  await tx
    .insert(entitlements)
    // A connector may use the mark to find the access that it revokes.
    .values({ id: await freeId(tx, mark, found.id), key, provider, identity, access, names, target, subject, ...owed })
    .onConflictDoUpdate({
      target: entitlements.key,
      // The access was found at this provider, which can revoke it there.
      set: {
        ...owed,
        provider,
        target,
        address: sql`case when ${entitlements.provider} = ${provider} then ${entitlements.address} end`,
        names: namesWith(entitlements.names, sql`excluded.names`),
      },
      setWhere: eq(entitlements.state, 'absent'),
    });
}

/** Returns the mark when it can be the id of a new row, else the given id. */
async function freeId(tx: Transaction, mark: string | null, id: string): Promise<string> {
  if (mark === null || !isId(mark)) return id;
  const taken = await tx.select({ id: entitlements.id }).from(entitlements).where(eq(entitlements.id, mark));
  return taken.length === 0 ? mark : id;
}

/**
 * Skips the comparison of a provider that does not respond: what it holds stays unknown, and grants do not wait for it. An
 * administrator can do that only when the comparison failed, and together with another one: the first call proposes it, and a call
 * of another person decides it. Throws `forbidden`, `invalid`, `not_found` for an unknown provider, and `conflict` when no restore
 * has begun, when the provider is compared or its comparison has not failed, and for a person's own proposal.
 */
export async function skipProvider(
  ctx: ActorStore,
  input: { provider: string; reason: string },
): Promise<{ message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { provider } = input;
  const { actor } = ctx;
  if (!providersToCompare(ctx).includes(provider)) throw notFound(`The provider ${provider}`);
  const selves = actor.kind === 'user' ? [actor.id, ...(await listSelves(ctx.db, actor.id)).map(({ id }) => id)] : [];
  return ctx.db.transaction(async (tx) => {
    const { epoch } = await lockGate(tx);
    const decision = decideSkip(
      await readComparison(tx, { provider, epoch, selves }),
      actor.kind === 'operator' ? 'operator' : 'administrator',
    );
    if (decision !== 'skip' && decision !== 'propose') throw new AccessError('conflict', refusals[decision](provider));
    const entry = { level: 'warning', actor, provider, data: { reason } } as const;
    if (decision === 'propose') {
      const proposal = { userId: selves[0] ?? '', by: nameOf(actor), reason };
      await tx.update(comparisons).set({ proposal }).where(eq(comparisons.provider, provider));
      const message = `${nameOf(actor)} proposed to skip the comparison of ${provider} after a restore: ${reason}`;
      await appendLedger(tx, [{ type: 'restore.skip_proposed', message, ...entry }]);
      return { message: `${provider} is not compared when another administrator skips it too` };
    }
    const now = sql`app_now()`;
    const skipped = { epoch, leaseUntil: now, comparedAt: now, skipped: reason, proposal: null };
    await tx
      .insert(comparisons)
      .values({ provider, ...skipped })
      .onConflictDoUpdate({ target: comparisons.provider, set: skipped });
    const message = `${nameOf(actor)} skipped the comparison of ${provider} after a restore: ${reason}`;
    await appendLedger(tx, [{ type: 'restore.skipped', message, ...entry }]);
    return { message: `${provider} is not compared` };
  });
}

const byOperator = 'or an operator skips it by `belay restore skip`';
const refusals = {
  'rejected: compared': (provider: string) => `${provider} is compared or skipped already`,
  'rejected: not failed': (provider: string) =>
    `The comparison of ${provider} has not failed: wait for it, ${byOperator}`,
  'rejected: own proposal': (provider: string) =>
    `You proposed to skip ${provider}: another administrator has to agree, ${byOperator}`,
};

/** Returns the facts of a provider in the restore `epoch`; a worker that compares it meanwhile waits for the caller's transaction. */
async function readComparison(
  tx: Transaction,
  { provider, epoch, selves }: { provider: string; epoch: number; selves: string[] },
): Promise<ComparisonFacts> {
  const [row] = await tx
    .select()
    .from(comparisons)
    .where(and(eq(comparisons.provider, provider), eq(comparisons.epoch, epoch)))
    .for('update');
  const by = row?.proposal?.userId;
  const proposal = by === undefined ? null : selves.includes(by) ? 'own' : 'other';
  return { compared: Boolean(row?.comparedAt), failed: Boolean(row?.lastError), proposal };
}

/**
 * Permits grants again, and makes those that waited due. Throws `forbidden`, and `conflict` when no restore has begun,
 * while a provider is neither compared nor skipped, or while found access waits for a decision.
 */
export async function openRestore(ctx: ActorStore): Promise<{ message: string }> {
  requireAdministrator(ctx);
  const { actor } = ctx;
  await ctx.db.transaction((tx) =>
    opening(ctx, tx, { actor, message: `${nameOf(actor)} permitted grants again after a restore` }),
  );
  return { message: 'Grants are permitted again' };
}

/** Permits grants again after a restore that Belay noticed by itself, when nothing is left to decide. */
export async function openNoticed(ctx: Store): Promise<void> {
  const actor = { kind: 'system', name: 'restore' } as const;
  const message = 'Every provider was compared and nothing is left to decide: grants are permitted again';
  await ctx.db
    .transaction((tx) => opening(ctx, tx, { actor, message, noticed: true }))
    .catch((error: unknown) => {
      if (!(error instanceof AccessError && error.code === 'conflict')) throw error;
    });
}

async function opening(
  ctx: Store,
  tx: Transaction,
  entry: { actor: Actor; message: string; noticed?: boolean },
): Promise<void> {
  const { epoch, noticed } = await lockGate(tx);
  if (entry.noticed && !noticed)
    throw new AccessError('conflict', 'An operator began this restore; an operator has to end it');
  const done = await tx
    .select({ provider: comparisons.provider })
    .from(comparisons)
    .where(and(eq(comparisons.epoch, epoch), isNotNull(comparisons.comparedAt)));
  const left = providersToCompare(ctx).filter((one) => !done.some(({ provider }) => provider === one));
  const open = await tx.select({ id: leftovers.id }).from(leftovers).where(isNull(leftovers.answer));
  const decision = decideOpen({ notCompared: left.length, undecided: open.length });
  if (decision === 'rejected: not compared')
    throw new AccessError('conflict', `Not compared yet: ${left.join(', ')}; wait, or skip with a reason`);
  if (decision === 'rejected: undecided')
    throw new AccessError(
      'conflict',
      `Access that the comparison found waits for a decision (${open.length}); revoke or keep each`,
    );
  await reopen(ctx, tx);
  const { actor, message } = entry;
  await appendLedger(tx, [{ type: 'restore.ended', level: 'warning', message, actor, data: { epoch } }]);
}
