import { AccessError } from '@belay/contract/errors';
import { comparisons, executions, grants, leftovers } from '@belay/db';
import { within } from '@belay/providers';
import { and, eq, isNotNull, isNull, lt, notInArray, or, sql } from 'drizzle-orm';
import { publicMessage } from '../../catalog/authorizer.js';
import type { Store } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { compareProvider, type Difference } from '../compare.js';
import { endHeld } from '../end-held.js';
import { entitlementKey } from '../rows.js';
import { isLive } from '../wanted.js';
import { openNoticed, oweRevocation } from './answer.js';
import { type Gate, lockGate, readGate } from './gate.js';
import { providersToCompare } from './status.js';

/** How long one comparison may take, in milliseconds; its lease is longer, so that no other worker compares beside it. */
const patience = 5 * 60_000;
const lease = '6 minutes';
/** When a comparison that failed is repeated. */
const again = '30 seconds';

const actor = { kind: 'system', name: 'restore' } as const;

/**
 * Compares the providers that are due after a restore, one after another, and acts on what was found: access with the
 * mark of its own row is revoked; grants end when the provider does not hold their access; an operator decides about
 * everything else. A provider that does not respond is compared again later. A restore that Belay noticed by itself ends
 * when nothing is left to decide. Returns how many it compared; nothing is due while grants are permitted.
 */
export async function compareRestored(ctx: Store, signal: AbortSignal): Promise<number> {
  const gate = await readGate(ctx);
  // Calls that were claimed before the gate closed, also by a process that was killed, end within their lease: wait for it.
  if (!gate?.settled) return 0;
  let compared = 0;
  for (const provider of providersToCompare(ctx)) {
    if (signal.aborted || !(await take(ctx, provider, gate))) continue;
    const failed = await compareOne(ctx, provider, gate, within(signal, patience)).then(
      () => null,
      (error: unknown) => {
        ctx.log.warn({ error, provider }, 'a provider could not be compared after a restore');
        return error instanceof Unread ? error.message : publicMessage(error);
      },
    );
    if (failed === null) compared += 1;
    else await putOff(ctx, provider, gate, failed);
  }
  if (gate.noticed) await openNoticed(ctx);
  return compared;
}

/** Takes a provider for this worker. Returns false when it is already compared, or not due yet. */
async function take(ctx: Store, provider: string, { epoch }: Gate): Promise<boolean> {
  const taken = { epoch, leaseUntil: sql`app_now() + ${lease}::interval`, comparedAt: null, skipped: null };
  // The failure and the proposal of an earlier restore do not count.
  const ofThis = <T>(column: T) => sql`case when ${comparisons.epoch} = ${epoch} then ${column} end`;
  const rows = await ctx.db
    .insert(comparisons)
    .values({ provider, ...taken, lastError: null })
    .onConflictDoUpdate({
      target: comparisons.provider,
      set: { ...taken, lastError: ofThis(comparisons.lastError), proposal: ofThis(comparisons.proposal) },
      setWhere: sql`${comparisons.epoch} < ${epoch}
        or (${comparisons.epoch} = ${epoch} and ${comparisons.comparedAt} is null and ${comparisons.leaseUntil} <= app_now())`,
    })
    .returning({ provider: comparisons.provider });
  return rows.length > 0;
}

async function putOff(ctx: Store, provider: string, { epoch }: Gate, lastError: string): Promise<void> {
  await ctx.db
    .update(comparisons)
    .set({ leaseUntil: sql`app_now() + ${again}::interval`, lastError })
    .where(and(eq(comparisons.provider, provider), eq(comparisons.epoch, epoch), isNull(comparisons.comparedAt)));
}

/** Thrown when the provider cannot report whether it holds some access. */
class Unread extends Error {}

async function compareOne(ctx: Store, provider: string, gate: Gate, signal: AbortSignal): Promise<void> {
  const { differences } = await compareProvider(ctx, provider, signal);
  const of = (...kinds: Difference['kind'][]) => differences.filter(({ kind }) => kinds.includes(kind));
  const unread = of('unread').length;
  if (unread > 0)
    throw new Unread(`The provider cannot report yet whether it still holds some of the access (${unread})`);
  for (const { entitlementId } of of('missing')) await endMissing(ctx, provider, gate, String(entitlementId));
  await ctx.db.transaction(async (tx) => {
    const { epoch } = await lockGate(tx);
    // Another restore has begun since, for which every provider is compared again.
    if (epoch !== gate.epoch) return;
    const undecided: string[] = [];
    for (const one of of('leftover', 'unknown')) {
      // A row that is not absent is revoked as usual.
      if (one.state !== null && one.state !== 'absent') continue;
      const found = describeDifference(ctx, provider, one);
      if (one.entitlementId !== null && one.mark === one.entitlementId) {
        await oweRevocation(tx, found);
        await appendLedger(tx, [
          {
            type: 'restore.found',
            level: 'warning',
            message: `After a restore ${one.identity} held access at ${provider} that Belay had granted; it is being revoked`,
            actor,
            provider,
            entitlementId: one.entitlementId,
            data: { access: one.access },
          },
        ]);
        continue;
      }
      undecided.push(found.key);
      await tx
        .insert(leftovers)
        .values({ ...found, epoch })
        .onConflictDoUpdate({
          target: leftovers.key,
          // Access that an operator wanted revoked and that is held again needs a new answer.
          set: { epoch, answer: null, mark: one.mark, identity: one.identity },
          setWhere: and(lt(leftovers.epoch, epoch), sql`${leftovers.answer} is distinct from 'keep'`),
        });
    }
    // What an earlier comparison found, and what is gone or being revoked, needs no decision.
    await tx
      .delete(leftovers)
      .where(and(eq(leftovers.provider, provider), isNull(leftovers.answer), notInArray(leftovers.key, undecided)));
    const now = sql`app_now()`;
    await tx
      .update(comparisons)
      .set({ comparedAt: now, leaseUntil: now, lastError: null })
      .where(and(eq(comparisons.provider, provider), eq(comparisons.epoch, epoch), isNull(comparisons.comparedAt)));
  });
}

/** Returns a difference as a row that is not stored yet: with an id, and the key that its entitlement has or would have. */
export function describeDifference(ctx: Store, provider: string, { identity, access, pin, mark }: Difference) {
  const { target, subject } = pin;
  return {
    id: ctx.newId(),
    key: entitlementKey(ctx, provider, pin),
    provider,
    identity,
    access,
    target,
    subject,
    mark,
  };
}

/**
 * Ends the grants on access that the provider no longer holds: it may have been revoked for a reason that the restored
 * rows do not contain. Grants that were intended since the gate closed do not end, because their access has not been
 * granted yet. Grants of extensions do end, because they extend access from before.
 */
async function endMissing(ctx: Store, provider: string, gate: Gate, entitlementId: string): Promise<void> {
  // Only access that is active can be extended, and none has become active since the gate closed.
  const isOfBefore = or(lt(grants.createdAt, gate.closedAt), isNotNull(executions.extendsId));
  const owners = await ctx.db
    .selectDistinct({ executionId: grants.executionId, userId: grants.userId, identity: grants.identity })
    .from(grants)
    .innerJoin(executions, eq(executions.id, grants.executionId))
    .where(and(eq(grants.entitlementId, entitlementId), isLive, isOfBefore));
  for (const { executionId, userId, identity } of owners) {
    const message = `After a restore ${identity} no longer held the access at ${provider}; request it again if it is needed`;
    const entry = { type: 'restore.missing', level: 'warning', message, actor, userId, provider, executionId } as const;
    const how = { reason: 'revoked', entry, entitlementIds: [entitlementId] } as const;
    await endHeld({ ...ctx, actor }, { id: executionId }, how).catch((error: unknown) => {
      // The access has ended meanwhile.
      if (!(error instanceof AccessError && error.code === 'conflict')) throw error;
    });
  }
}
