import { AccessError } from '@belay/contract/errors';
import {
  catalogs,
  commitWith,
  execute,
  executeBeside,
  executions,
  grants,
  inOrder,
  sqlText,
  statementOf,
  type Transaction,
} from '@belay/db';
import { claimedIn, claiming, isWhole, lockExecution, retryDeadlock, writePrepared } from '@belay/engine';
import { type Named, Retryable } from '@belay/providers';
import type { Outcome } from '@belay/workflow';
import { eq, max, sql } from 'drizzle-orm';
import { authorizerOf } from '../catalog/authorizer.js';
import { addressOf } from '../catalog/targets.js';
import type { Context } from '../context.js';
import { foldName } from '../people/names.js';
import { accessEnded, endedByPeople } from '../plans/owner.js';
import { decideIntent, type Held } from './decide.js';
import { degreeOf, findOtherDegree, lockSlots } from './degrees.js';
import { watch } from './history/watch.js';
import type { Intention, PlannedRow } from './intention.js';
import { openPlaces, type Places } from './places.js';
import { readHeld } from './read-held.js';
import { entitlementKey, lockEntitlements } from './rows.js';
import { standByFor } from './stand-by.js';
import { type IntentRow, isOfAnother, keepIntent, writingIntent } from './write-intent.js';

export type Intended =
  | { outcome: 'intended'; entitlementIds: string[] }
  /** R2: the identity already holds this access outside this service. */
  | {
      outcome: 'held_outside';
      provider: string;
      identity: string;
      /** Whether the access was granted by this service before, and each of its grants read as gone. */
      again: boolean;
    }
  /** R8: another grant of Belay's holds, or may still hold, another degree of access in the same slot. */
  | { outcome: 'other_degree'; provider: string; held: Named }
  /** The execution is being cancelled: its cleanup gets no access. */
  | { outcome: 'cancelled' }
  /** An approval was opened, or denied, since the caller checked. */
  | { outcome: 'not_approved'; refusal: Outcome }
  /** The approval has ended and must be requested again. */
  | { outcome: 'lapsed' }
  /** The execution has ended or moved, or another process has taken the step over: nothing was written. */
  | { outcome: 'moved_on' };

/**
 * Commits the grants and their entitlements before any call that changes a provider (R1). R2: rejects access that an
 * identity already holds without a grant of this service. The provider is read before the transaction, because no
 * transaction spans a network call; the decision is made inside it, on the entitlement's state under its lock. Throws
 * `Retryable` when the provider cannot report what it holds or the configuration has changed, `conflict` when the
 * access to extend was ended or another provider holds the same access, and the errors of a connector.
 */
export async function intendGrants(ctx: Context, intention: Intention, signal: AbortSignal): Promise<Intended> {
  const catalog = ctx.catalog.current();
  if (catalog.version !== intention.catalogVersion) throw new Retryable('The configuration has just changed');
  const planned = intention.plan.grants.map((grant, index) => ({
    ...grant,
    knownAs: [...new Set([...(intention.plan.knownAs[index] ?? []), foldName(grant.identity)])],
    address: addressOf(catalog.providers.get(grant.provider)),
    key: entitlementKey(ctx, grant.provider, grant.pin),
    id: ctx.newId(),
    grantId: ctx.newId(),
  }));
  refuseTwice(planned);
  const providers = [...new Set(planned.map((grant) => grant.provider))];
  // Awaited first: until it succeeds, there is nothing to decide.
  await Promise.all(
    providers.map((provider) => standByFor(ctx, provider, authorizerOf(ctx, provider, 'observe'), signal)),
  );
  const held = await Promise.all(
    planned.map((grant) =>
      readHeld(
        watch(ctx, grant.provider, authorizerOf(ctx, grant.provider, 'observe')).authorizer,
        { id: grant.id, pin: grant.pin, names: [{ identity: grant.identity, access: grant.access }] },
        signal,
      ),
    ),
  );
  const places = openPlaces(ctx);
  try {
    const what = { planned, held, places };
    const { pending } = intention;
    const intend = async (): Promise<Intended> => {
      const entitlementIds = await intendAlone(ctx, intention, what);
      if (entitlementIds) return { outcome: 'intended', entitlementIds };
      return ctx.db
        .transaction((tx) => intendLocked(ctx, tx, intention, what))
        .catch((error: unknown) => {
          if (!isOfAnother(error)) throw error;
          throw new Retryable(
            'Another provider was granting this access at the same time; the request is planned again',
          );
        });
    };
    const result = await claiming(ctx, pending ? claimedIn(pending) : [], () => places.claiming(intend));
    ctx.crashpoint('intended');
    if (pending && result.outcome !== 'moved_on') ctx.waker.wake(pending.jobs);
    // Without places, `access.grant` reconciles the entitlements itself.
    if (result.outcome === 'intended' && ctx.waker.reserve) ctx.waker.wake(places.begin());
    return result;
  } finally {
    places.release();
  }
}

interface What {
  planned: readonly PlannedRow[];
  /** What the provider held of each, as it was read before. */
  held: readonly Held[];
  places: Places;
}

/**
 * Writes the intent by its statement alone. Returns the ids of the entitlements; null when nothing was written, because something is
 * not as expected or needs a closer check: then `intendLocked` finds the reason.
 */
async function intendAlone(
  ctx: Context,
  intention: Intention,
  { planned, held, places }: What,
): Promise<string[] | null> {
  if (intention.pending && !isWhole(intention.pending)) return null;
  const absent = { state: 'absent' as const, gone: true };
  if (held.some((seen) => decideIntent(absent, seen) === 'refuse')) return null;
  if (planned.some((one) => degreeOf(ctx, one) !== undefined)) return null;
  const rows = once(planned);
  const placed = { ids: places.reserve(rows, 'grant'), claimId: places.claimId };
  const statement = writingIntent(ctx, intention, rows, { placed, locked: false });
  const keys = [intention.executionId, ...rows.map(({ key }) => key)];
  const written = await retryDeadlock(() => executeBeside<IntentRow>(ctx.db, statement, keys)).catch(
    (error: unknown): IntentRow[] => {
      if (isOfAnother(error)) return [];
      throw error;
    },
  );
  return written.length === 0 ? null : keepIntent(intention, rows, written, places);
}

/** Writes the intent under the locks of everything that it depends on, or returns why not. */
async function intendLocked(
  ctx: Context,
  tx: Transaction,
  intention: Intention,
  { planned, held, places }: What,
): Promise<Intended> {
  // The order of the locks: the execution, the configuration, what the execution extends, the entitlements.
  if (intention.pending) {
    // Written only at the version that the move was decided on: the step is opened here, and nothing was cancelled since.
    if (!(await writePrepared(ctx, tx, intention.pending))) return { outcome: 'moved_on' };
  } else {
    const locked = await lockExecution(tx, intention.executionId, intention.stepKey);
    if (!locked?.step || locked.step.attempt !== intention.attempt) return { outcome: 'moved_on' };
    if (locked.cancelled) return { outcome: 'cancelled' };
  }
  const extended = await requireVersion(tx, intention);
  if (extended !== null) await refuseEnded(tx, extended);
  const judged = await intention.confirm(tx);
  if ('refusal' in judged) return { outcome: 'not_approved', refusal: judged.refusal };
  if ('lapsed' in judged) return { outcome: 'lapsed' };
  await lockSlots(ctx, tx, planned);
  const locked = await lockEntitlements(
    tx,
    planned.map((one, index) => ({ ...one, held: held[index] ?? false })),
  );
  for (const one of locked) if (one.through !== null) throw heldThrough(one, one.through);
  const refused = locked.find(({ facts, held: seen }) => decideIntent(facts, seen) === 'refuse');
  if (refused) {
    const { provider, identity, facts } = refused;
    return { outcome: 'held_outside', provider, identity, again: facts.gone };
  }
  const other = findOtherDegree(ctx, locked);
  if (other) return { outcome: 'other_degree', ...other };
  const rows = once(locked);
  const placed = { ids: places.reserve(rows, 'grant'), claimId: places.claimId };
  const written = { ...intention, pending: undefined, approved: judged.approved };
  const [entitled] = await commitWith(tx, [
    statementOf<IntentRow>(tx, writingIntent(ctx, written, rows, { placed, locked: true })),
  ]);
  if (entitled.length === 0) return { outcome: 'moved_on' };
  return { outcome: 'intended', entitlementIds: keepIntent(intention, rows, entitled, places) };
}

/** Throws `conflict` when an intent names one access through two providers: it is granted and revoked through one (R8). */
function refuseTwice(planned: readonly PlannedRow[]): void {
  const first = new Map<string, string>();
  for (const one of planned) {
    const through = first.get(one.key) ?? one.provider;
    first.set(one.key, through);
    if (through !== one.provider) throw heldThrough(one, through);
  }
}

function heldThrough({ provider, identity }: PlannedRow, through: string): AccessError {
  const message = `"${provider}" leads to the same target as "${through}", or to a copy of it, and this access of ${identity} is held, granted or being revoked through "${through}": request it there, or when that has ended`;
  return new AccessError('conflict', message);
}

/** Returns the rows without those of an entitlement that an earlier row has. */
function once<Row extends { key: string }>(rows: readonly Row[]): Row[] {
  return [...new Map(rows.toReversed().map((row) => [row.key, row])).values()].toReversed();
}

/**
 * Locks the configuration until the intent is committed, so that no new configuration can remove the provider or move it
 * to another target meanwhile. Throws `Retryable` when the request was planned with another configuration: it is planned
 * again. Returns the id of the execution whose access is extended, or null: read here, it costs no statement of its own.
 */
async function requireVersion(
  tx: Transaction,
  { executionId, catalogVersion }: Pick<Intention, 'executionId' | 'catalogVersion'>,
): Promise<string | null> {
  const extended = sql<
    string | null
  >`(select ${executions.extendsId} from ${executions} where ${executions.id} = ${executionId})`;
  const [, [latest]] = await inOrder([
    // Excludes a change (applyCatalog), but not other intents.
    tx.execute(sql`lock table ${catalogs} in row exclusive mode`),
    tx.select({ version: max(catalogs.version), extended }).from(catalogs),
  ]);
  if (latest?.version !== catalogVersion)
    throw new Retryable('The configuration has changed; the request is planned again');
  return latest.extended;
}

/**
 * Throws `conflict` when a person has ended the access that is to be extended since the request was planned. The extended
 * execution stays locked until the intent is committed. Access is ended under that lock, so an end is visible here, or comes
 * later and finds the grant of this intent (decision 0133). Throws `Retryable` instead of waiting for the lock, because its
 * holder may wait for this execution.
 */
async function refuseEnded(tx: Transaction, executionId: string): Promise<void> {
  const one = tx.select({ id: executions.id }).from(executions).where(eq(executions.id, executionId));
  const [locked] = await one.for('key share', { skipLocked: true });
  if (!locked) throw new Retryable('The access that this request extends is changing; the request is planned again');
  const [ended] = await execute(
    tx,
    sqlText`select 1 from ${grants} where execution_id = ${executionId}::uuid and ended_reason in (${endedByPeople}) limit 1`,
  );
  if (ended) throw accessEnded();
}
