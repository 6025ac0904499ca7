import type { SameTarget } from '@belay/contract/admin';
import { canonicalJson, digestOf } from '@belay/contract/canonical';
import { AccessError, notFound } from '@belay/contract/errors';
import { entitlements, execute, sqlText, type Transaction, targets } from '@belay/db';
import {
  type Access,
  type Authorizer,
  type Json,
  Retryable,
  type Sighting,
  TargetDoubted,
  Terminal,
  type Trust,
} from '@belay/providers';
import { and, asc, eq, inArray, ne, notExists, sql } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import { wouldBeElevated } from '../../approvals/elevated.js';
import { authorizerOf, publicMessage } from '../../catalog/authorizer.js';
import { type Doubt, doubts } from '../../catalog/judge.js';
import type { ActorStore, Store } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator, requireOverseer } from '../../people/oversight.js';
import { listSelves } from '../../people/selves.js';
import { compareProvider } from '../compare.js';
import { requireReason } from '../revoke.js';
import { entitlementKey } from '../rows.js';
import { reopen } from './memory.js';
import { keepMemory } from './watch.js';

type Pair = SameTarget['pairs'][number];

/** How long the provider may take. */
const patience = 20_000;
/** The most rows of one provider that are confirmed at once. */
const most = 1_000;

/**
 * Returns the access that is held at a provider beside what its server says now, for an administrator to confirm that it is the same
 * target (GET /admin/providers/{provider}/target). Changes nothing. Throws `forbidden`, and as `readAll` does.
 */
export async function readSameTarget(ctx: ActorStore, { provider }: { provider: string }): Promise<SameTarget> {
  requireOverseer(ctx);
  return (await readAll(ctx, provider)).shown;
}

/** Reads what is held and what the server says. Throws `not_found`, and `unavailable` for an error of the connector. */
async function readAll(ctx: ActorStore, provider: string) {
  const found = ctx.catalog.current().providers.get(provider);
  if (!found?.capabilities.has('authorizer')) throw notFound(`Provider ${provider}, with access that it grants,`);
  try {
    return await readServer(ctx, provider);
  } catch (cause) {
    const isOfConnector = cause instanceof Retryable || cause instanceof Terminal || isTimeout(cause);
    if (!isOfConnector) throw cause;
    throw new AccessError('unavailable', `The provider "${provider}" could not be read: ${publicMessage(cause)}`, {
      cause,
    });
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');

async function readServer(ctx: ActorStore, provider: string) {
  const signal = AbortSignal.timeout(patience);
  const { authorizer, latest } = watchOne(authorizerOf(ctx, provider, 'observe'));
  const target = await authorizer.target(signal);
  const rows = await ctx.db
    .select()
    .from(entitlements)
    .where(and(eq(entitlements.provider, provider), ne(entitlements.state, 'absent')))
    .orderBy(asc(entitlements.id))
    .limit(most);
  const listed = await readListed(ctx, authorizer, provider, signal);
  const pairs: Pair[] = [];
  for (const { id, identity, access, subject } of rows) {
    const named = { id, identity, access: access as Access };
    const found = (await authorizer.pin(named, signal))?.subject ?? null;
    const pin = found === null ? null : { target, subject: found };
    pairs.push({
      ...{ id, identity, access: access as Access, stored: subject as Json, found },
      same: canonicalJson(found) === canonicalJson(subject as Json),
      ours: listed && (pin === null ? false : listed.has(entitlementKey(ctx, provider, pin))),
    });
  }
  const [known] = await ctx.db.select().from(targets).where(eq(targets.target, target));
  const heldAt = [...new Set(rows.map((row) => row.target ?? ''))];
  const shown = {
    provider,
    held_at: heldAt,
    target,
    doubt: known?.doubt ? doubts[known.doubt as Doubt].says : null,
    pairs,
    gives_up: [
      'What was granted or revoked at another server with this history is not known here: access that it still holds is not revoked there.',
      ...(heldAt.some((one) => one !== target)
        ? ['Approvals of the earlier fingerprint lapse: such requests have to be approved again.']
        : []),
    ],
  };
  const sighting = latest() ?? { instance: null, position: null, mark: null };
  // With the server that responded: another one of the same history has the same fingerprint and, it may be, the same access.
  const digest = digestOf([shown.held_at, target, sighting.instance, pairs]);
  return { sighting, rows, shown: { ...shown, digest } };
}

/**
 * Returns an authorizer whose calls are all answered by one server, and its latest sighting. Throws `conflict` at one that cannot be the
 * target now, and `TargetDoubted` when another server responds.
 */
function watchOne(plain: Authorizer): { authorizer: Authorizer; latest(): Sighting | undefined } {
  let latest: Sighting | undefined;
  const trust: Trust = async (look) => {
    const seen = await look();
    if (seen.unsettling !== null)
      throw new AccessError('conflict', `The server ${seen.unsettling}: it cannot be the target`);
    if (latest && seen.instance !== latest.instance)
      throw new TargetDoubted('The address leads to several servers in turns');
    latest = seen;
  };
  return { authorizer: plain.history?.trusting(trust) ?? plain, latest: () => latest };
}

async function readListed(
  ctx: Store,
  authorizer: Authorizer,
  provider: string,
  signal: AbortSignal,
): Promise<Set<string> | null> {
  if (!authorizer.list) return null;
  const keys = new Set<string>();
  for await (const { pin } of authorizer.list(signal)) if (pin) keys.add(entitlementKey(ctx, provider, pin));
  return keys;
}

/**
 * Confirms that the server which responds now is the target where access is held (POST /admin/providers/{provider}/same): after an
 * upgrade in place, a failover or a restore. Everything that is held is called and read back again, access that is recorded as gone and
 * found there is revoked, and the earlier doubt ends. `by_name`: the stored identifiers are replaced by those that the names have now.
 * Audited. Throws `forbidden`, also for a holder of the access, `invalid` for the reason, and `conflict` when what was shown has changed
 * since, or when identifiers differ.
 */
export async function confirmSameTarget(
  ctx: ActorStore,
  input: { provider: string; digest: string; by_name?: boolean | undefined; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { provider, by_name: byName = false } = input;
  const { sighting, rows, shown } = await readAll(ctx, provider);
  const { pairs, target } = shown;
  if (shown.digest !== input.digest)
    throw new AccessError('conflict', 'What the provider holds has changed since it was shown: look at it again');
  const beside = await listBeside(ctx, provider, target);
  if (pairs.length === 0 && beside.length > 0)
    throw new AccessError('conflict', `Access at this target is held through ${beside[0]?.provider}: confirm it there`);
  await refuseHolders(ctx, [...pairs.map(({ identity }) => ({ provider, identity })), ...beside]);
  refuseOthers(pairs, byName);
  await ctx.db.transaction(async (tx) => {
    const before = await lockAll(tx, provider);
    if (canonicalJson(before) !== canonicalJson(rows.map(({ id }) => id)))
      throw new AccessError('conflict', 'Access was granted or revoked meanwhile: look at it again');
    for (const [index, row] of rows.entries()) {
      const subject = (byName ? pairs[index]?.found : row.subject) as Json;
      await tx
        .update(entitlements)
        .set({ target, subject, key: entitlementKey(ctx, provider, { target, subject }), elsewhere: false })
        .where(eq(entitlements.id, row.id));
    }
    await tx.update(entitlements).set({ position: null }).where(eq(entitlements.target, target));
    const { position, mark } = sighting;
    const set = { position, mark, markedAt: mark === null ? null : sql`app_now()`, nextMark: null, nextAt: null };
    await tx
      .insert(targets)
      .values({ target, ...set })
      .onConflictDoUpdate({ target: targets.target, set: { ...set, doubt: null, doubtedAt: null } });
    const others = shown.held_at.filter((one) => one !== target);
    const heldThere = tx
      .select({ one: sql`1` })
      .from(entitlements)
      .where(and(eq(entitlements.target, targets.target), ne(entitlements.state, 'absent')));
    // Where no access is held any more, nothing is doubted. Another provider may hold some there.
    if (others.length > 0) await tx.delete(targets).where(and(inArray(targets.target, others), notExists(heldThere)));
    await tx
      .update(entitlements)
      .set({
        failures: 0,
        dueAt: sql`app_now()`,
        state: sql`case ${entitlements.state} when 'granted' then 'granting' else ${entitlements.state} end`,
      })
      .where(and(eq(entitlements.target, target), ne(entitlements.state, 'absent')));
    await appendLedger(tx, [
      {
        type: 'target.confirmed',
        level: 'warning',
        message: `${nameOf(ctx.actor)} confirmed that ${provider} leads to the same target${byName ? ', by its names' : ''}: ${reason}`,
        actor: ctx.actor,
        provider,
        data: {
          reason,
          by_name: byName,
          held_at: shown.held_at,
          target,
          doubt: shown.doubt,
          pairs,
          gives_up: shown.gives_up,
        },
      },
    ]);
  });
  keepMemory(authorizerOf(ctx, provider, 'observe'), target, null);
  const back = await reopenHeld(ctx, provider, target);
  ctx.waker.wake(rows.map(({ id }) => ({ queue: 'entitlements', entitlementId: id, provider })));
  const revoked = back === 0 ? '' : `; ${back} that was recorded as gone is revoked again`;
  return {
    status: 'ok',
    message: `${provider} is the same target: access of ${pairs.length} is called and read back again${revoked}`,
  };
}

async function lockAll(tx: Transaction, provider: string): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    tx,
    sqlText`select id from ${entitlements} where provider = ${provider} and state <> 'absent' order by id limit ${most} for update`,
  );
  return rows.map(({ id }) => id);
}

interface Held {
  provider: string;
  identity: string;
}

/** Returns the access at a target that is held through other providers, which the word for this one settles too. */
async function listBeside(ctx: ActorStore, provider: string, target: string): Promise<Held[]> {
  return ctx.db
    .select({ provider: entitlements.provider, identity: entitlements.identity })
    .from(entitlements)
    .where(and(eq(entitlements.target, target), ne(entitlements.provider, provider), ne(entitlements.state, 'absent')))
    .limit(most);
}

/** Throws `forbidden` for a person who holds some of the access: another person has to confirm. */
async function refuseHolders(ctx: ActorStore, grants: readonly Held[]): Promise<void> {
  const { actor } = ctx;
  if (actor.kind !== 'user' || grants.length === 0) return;
  const selves = [actor, ...(await listSelves(ctx.db, actor.id))];
  if (await wouldBeElevated(ctx, selves, { grants }, { lenient: true }))
    throw new AccessError('forbidden', 'You hold access there: another administrator confirms the target');
}

/** Throws `conflict` when identifiers differ, or when a name that replaces them does not exist. */
function refuseOthers(pairs: readonly Pair[], byName: boolean): void {
  const wrong = pairs.filter(({ same, found }) => (byName ? found === null : !same));
  if (wrong.length === 0) return;
  const names = wrong.slice(0, 10).map(
    ({ identity, access }) =>
      `${Object.values(access as Access)
        .map(String)
        .join(' ')} of ${identity}`,
  );
  const why = byName
    ? 'have names that do not exist there'
    : 'have other identifiers there, as after a dump and restore; compare them, and confirm them by their names';
  throw new AccessError('conflict', `${wrong.length} entitlements ${why}: ${names.join(', ')}`);
}

/** Makes the revocation due of access that is recorded as gone and that the confirmed server holds. Returns how many. */
async function reopenHeld(ctx: ActorStore, provider: string, target: string): Promise<number> {
  const { differences } = await compareProvider(ctx, provider, AbortSignal.timeout(patience));
  const ids = differences.flatMap(({ kind, state, entitlementId }) =>
    kind === 'leftover' && state === 'absent' && entitlementId !== null ? [entitlementId] : [],
  );
  if (ids.length === 0) return 0;
  return ctx.db.transaction((tx) => reopen(tx, target, sqlText`and e.id = any (${`{${ids.join(',')}}`}::uuid[])`));
}
