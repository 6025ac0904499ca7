import { AccessError, notFound } from '@belay/contract/errors';
import { type ProvisionedDetails, provisionedUsers, type Transaction, userIdentities, users } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { and, eq, inArray, isNull, ne, sql } from 'drizzle-orm';
import { withActor } from '../actor.js';
import type { Job, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { addressesOfLeaver, findDescribed } from '../people/certain.js';
import { describeKnown } from '../people/known.js';
import { foldAddress, foldName } from '../people/names.js';
import { type Left, settleProvisioned } from '../people/provisioned.js';
import { endPeople } from '../users/end-people.js';
import { describeUser, type ProvisionedUser } from './read-users.js';

/** A person as a directory describes them. */
export interface ProvisionedPerson {
  userName: string;
  externalId: string | null;
  active: boolean;
  details: ProvisionedDetails;
}

type Row = typeof provisionedUsers.$inferSelect;

/** How often a change is tried: sign-ins and grants may lock the same rows at the same time. */
const attempts = 5;

/**
 * Stores a person that a directory provisions. Creates no user and no access. Throws `conflict` when another person of the provider
 * has the user name.
 */
export function createProvisionedUser(
  ctx: Store,
  provider: string,
  person: ProvisionedPerson,
): Promise<ProvisionedUser> {
  return commit(ctx, async (tx) => {
    await requireFree(tx, provider, person.userName, null);
    const [row] = await tx
      .insert(provisionedUsers)
      .values({ id: ctx.newId(), provider, ...columnsOf(person) })
      .returning();
    if (!row) throw new Error('A provisioned person could not be stored');
    const jobs = await follow(ctx, tx, provider, { before: null, after: row, earlier: [] });
    return { result: await describeUser(tx, row), jobs };
  });
}

/**
 * Changes a person that a directory provisioned: `change` returns their new state, in the transaction that locks their row. A
 * person who is no longer active loses logins, open requests, access and the right to decide in the same transaction. Throws
 * `not_found`, `conflict` for the name of another person, and what `change` throws.
 */
export function changeProvisionedUser(
  ctx: Store,
  provider: string,
  id: string,
  change: (current: ProvisionedPerson) => ProvisionedPerson,
): Promise<ProvisionedUser> {
  return commit(ctx, async (tx) => {
    const before = await lockUser(tx, provider, id);
    const person = change(before);
    await requireFree(tx, provider, person.userName, id);
    // Whom the account describes is settled by the names that it has until now: the change may rename and deactivate it at once.
    const earlier = await settleProvisioned(ctx, tx, await findDescribed(tx, [before]));
    const [row] = await tx
      .update(provisionedUsers)
      .set({ ...columnsOf(person), updatedAt: sql`app_now()` })
      .where(eq(provisionedUsers.id, id))
      .returning();
    if (!row) throw new Error('A provisioned person could not be stored');
    const jobs = await follow(ctx, tx, provider, { before, after: row, earlier });
    return { result: await describeUser(tx, row), jobs };
  });
}

/** Deletes a person that a directory provisioned, which ends what a deactivation ends. Throws `not_found`. */
export function deleteProvisionedUser(ctx: Store, provider: string, id: string): Promise<void> {
  return commit(ctx, async (tx) => {
    const before = await lockUser(tx, provider, id);
    const earlier = await settleProvisioned(ctx, tx, await findDescribed(tx, [before]));
    const [row] = await tx
      .update(provisionedUsers)
      .set({ active: false, deletedAt: sql`app_now()`, updatedAt: sql`app_now()` })
      .where(eq(provisionedUsers.id, id))
      .returning();
    const jobs = await follow(ctx, tx, provider, { before, after: row ?? before, earlier });
    return { result: undefined, jobs };
  });
}

/**
 * Runs one change of a directory, and wakes the workers after the commit. First sign-ins hold the same lock, so of a change and a
 * sign-in the later one sees what the earlier one wrote.
 */
export async function commit<Result>(
  ctx: Store,
  work: (tx: Transaction) => Promise<{ result: Result; jobs: readonly Job[] }>,
): Promise<Result> {
  const { result, jobs } = await retryDeadlock(
    () =>
      ctx.db.transaction(async (tx) => {
        await tx.execute(sql`lock table ${userIdentities} in share update exclusive mode`);
        return work(tx);
      }),
    attempts,
  );
  ctx.crashpoint('provisioned');
  ctx.waker.wake([...jobs]);
  return result;
}

async function lockUser(tx: Transaction, provider: string, id: string): Promise<Row> {
  if (!isId(id)) throw notFound('The user');
  const [row] = await tx
    .select()
    .from(provisionedUsers)
    .where(
      and(eq(provisionedUsers.id, id), eq(provisionedUsers.provider, provider), isNull(provisionedUsers.deletedAt)),
    )
    .for('update');
  if (!row) throw notFound('The user');
  return row;
}

async function requireFree(tx: Transaction, provider: string, userName: string, id: string | null): Promise<void> {
  const [taken] = await tx
    .select({ id: provisionedUsers.id })
    .from(provisionedUsers)
    .where(
      and(
        eq(provisionedUsers.provider, provider),
        eq(provisionedUsers.userNameFolded, foldName(userName)),
        isNull(provisionedUsers.deletedAt),
        id === null ? undefined : ne(provisionedUsers.id, id),
      ),
    );
  if (taken) throw new AccessError('conflict', 'Another user has this userName');
}

function columnsOf({ userName, externalId, active, details }: ProvisionedPerson) {
  const told = [userName, ...(details.emails ?? []).map(({ value }) => value)].map((text) => foldAddress(text));
  const addresses = [...new Set(told.filter((address) => address !== undefined))];
  const { displayName, emails = [] } = details;
  const searched = {
    displayName: displayName === undefined ? null : foldName(displayName),
    emails: emails.map(({ value }) => foldName(value)),
  };
  return { userName, userNameFolded: foldName(userName), externalId, active, details, addresses, searched };
}

/**
 * Applies a change of an account to the users that it describes. Ends everything of people who have left by it, and the access for the
 * addresses of a person who never signed in.
 */
async function follow(
  ctx: Store,
  tx: Transaction,
  provider: string,
  { before, after, earlier }: { before: Row | null; after: Row; earlier: readonly Left[] },
): Promise<Job[]> {
  const described = await findDescribed(tx, before === null ? [after] : [before, after]);
  const left = await settleProvisioned(ctx, tx, described);
  const concerned = left.filter(({ accountId, now }) => now || accountId === after.id).map(({ userId }) => userId);
  const gone = !after.active;
  const wasActive = before?.active ?? true;
  const actor = { kind: 'system' as const, name: 'provisioning' };
  await appendLedger(tx, [
    {
      type: gone ? 'user.deprovisioned' : 'user.provisioned',
      level: gone && before?.active !== false && before !== null ? 'warning' : 'info',
      message: `"${provider}" ${gone ? 'deactivated' : 'provisioned'} ${after.userName}`,
      actor,
      ...(concerned.length === 1 && concerned[0] !== undefined ? { userId: concerned[0] } : {}),
      provider,
      data: { provisioned_id: after.id, user_name: after.userName, active: after.active, users: concerned },
    },
  ]);
  // Who had left before has lost everything then, and their address may be another person's since.
  const ids = [...new Set([...earlier, ...left].filter(({ now }) => now).map(({ userId }) => userId))];
  // Colleagues may have requested access for an address whose person never signed in.
  const theirs = gone && wasActive ? await addressesOfLeaver(ctx, tx, after, concerned) : { names: [], former: [] };
  const { names, former } = theirs;
  if (ids.length === 0 && names.length === 0 && former.length === 0) return [];
  const [user] =
    ids.length === 0 ? [] : await tx.select({ email: users.email }).from(users).where(inArray(users.id, ids));
  const known = await describeKnown(ctx, tx, { email: user?.email ?? after.userName, ids, names, former });
  const { jobs } = await endPeople(withActor(ctx, actor), tx, known, {
    name: `"${provider}"`,
    reason: 'deprovisioned',
  });
  return jobs;
}

/**
 * Raises the alarm for a change of a person or a group that a directory sent and that was rejected because of its content: it may
 * have been a deactivation, or the end of a membership. Call it outside of the transaction that was rolled back.
 */
export async function reportRefused(
  ctx: Store,
  input: { provider: string; id: string; resource: 'person' | 'group'; requestId: string; because: string },
): Promise<void> {
  const { provider, id, resource, requestId, because } = input;
  const what = resource === 'person' ? 'a deactivation' : 'the end of a membership';
  ctx.log.error({ provider, provisioned: id, requestId, because }, `a SCIM change of a ${resource} was rejected`);
  await appendLedger(ctx.db, [
    {
      type: 'provisioning.rejected',
      level: 'error',
      message: `A change of a ${resource} by "${provider}" was rejected; it may have been ${what}`,
      actor: { kind: 'system', name: 'provisioning' },
      provider,
      data: { provisioned_id: id, request_id: requestId, because },
    },
  ]);
}
