import { foldAddress } from '@belay/contract/address';
import { AccessError, notFound } from '@belay/contract/errors';
import {
  type FormerAddress,
  type ProvisionedDetails,
  provisionedUsers,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { and, eq, inArray, isNull, ne, notInArray, or, sql } from 'drizzle-orm';
import { withActor } from '../actor.js';
import type { Job, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { isTrusted } from '../people/admission.js';
import { describeKnown } from '../people/known.js';
import { settleProvisioned } from '../people/provisioned.js';
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
    // The deleted row of the same person is removed: it would keep the person deactivated.
    const before = await tx
      .select()
      .from(provisionedUsers)
      .where(
        and(
          eq(provisionedUsers.provider, provider),
          sql`${provisionedUsers.deletedAt} is not null`,
          or(
            eq(provisionedUsers.userNameFolded, person.userName.toLowerCase()),
            person.externalId === null ? undefined : eq(provisionedUsers.externalId, person.externalId),
          ),
        ),
      );
    if (before.length > 0) {
      await tx.delete(provisionedUsers).where(
        inArray(
          provisionedUsers.id,
          before.map(({ id }) => id),
        ),
      );
    }
    const [row] = await tx
      .insert(provisionedUsers)
      .values({ id: ctx.newId(), provider, ...columnsOf(person) })
      .returning();
    if (!row) throw new Error('A provisioned person could not be stored');
    const jobs = await follow(ctx, tx, provider, [...before, row], row);
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
    const [row] = await tx
      .update(provisionedUsers)
      .set({ ...columnsOf(person), updatedAt: sql`app_now()` })
      .where(eq(provisionedUsers.id, id))
      .returning();
    if (!row) throw new Error('A provisioned person could not be stored');
    const jobs = await follow(ctx, tx, provider, [before, row], row);
    return { result: await describeUser(tx, row), jobs };
  });
}

/** Deletes a person that a directory provisioned, which ends what a deactivation ends. Throws `not_found`. */
export function deleteProvisionedUser(ctx: Store, provider: string, id: string): Promise<void> {
  return commit(ctx, async (tx) => {
    const before = await lockUser(tx, provider, id);
    const [row] = await tx
      .update(provisionedUsers)
      .set({ active: false, deletedAt: sql`app_now()`, updatedAt: sql`app_now()` })
      .where(eq(provisionedUsers.id, id))
      .returning();
    const jobs = await follow(ctx, tx, provider, [before], row ?? before);
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
        eq(provisionedUsers.userNameFolded, userName.toLowerCase()),
        isNull(provisionedUsers.deletedAt),
        id === null ? undefined : ne(provisionedUsers.id, id),
      ),
    );
  if (taken) throw new AccessError('conflict', 'Another user has this userName');
}

function columnsOf({ userName, externalId, active, details }: ProvisionedPerson) {
  const told = [userName, ...(details.emails ?? []).map(({ value }) => value)].map((text) => foldAddress(text));
  const addresses = [...new Set(told.filter((address) => address !== undefined))];
  return { userName, userNameFolded: userName.toLowerCase(), externalId, active, details, addresses };
}

/**
 * Returns the ids of the users that provisioned people may describe, by subject or address. Pass the rows from before and after a
 * change. `settleProvisioned` decides which users they do describe.
 */
export async function findUsers(tx: Transaction, rows: readonly Row[]): Promise<string[]> {
  const keys = rows.map(({ provider, externalId, userName, userNameFolded, addresses }) => ({
    provider,
    subjects: [externalId, userName, userNameFolded].filter((text) => text !== null),
    addresses: [...addresses, userNameFolded],
  }));
  const found = await tx.execute<{ id: string }>(sql`
    with keys as (select * from jsonb_to_recordset(${JSON.stringify(keys)}::text::jsonb)
      as key (provider text, subjects jsonb, addresses jsonb))
    select i.user_id as id from keys, jsonb_array_elements_text(keys.subjects) subject
      join ${userIdentities} i on i.subject = subject where i.provider = keys.provider
    union
    select i.user_id from keys, jsonb_array_elements_text(keys.addresses) address
      join ${userIdentities} i on i.email_folded = address`);
  return [...found].map(({ id }) => id);
}

/**
 * Applies a change of a person to the users that it describes. Ends everything of people who have left, and the access for the
 * addresses of a person who never signed in.
 */
async function follow(ctx: Store, tx: Transaction, provider: string, rows: readonly Row[], after: Row): Promise<Job[]> {
  const ids = await settleProvisioned(ctx, tx, await findUsers(tx, rows));
  const gone = !after.active;
  // Colleagues may have requested access for an address whose person never signed in.
  const [addresses, former] = gone ? await findTheirs(ctx, tx, provider, { after, left: ids }) : [[], []];
  const actor = { kind: 'system' as const, name: 'provisioning' };
  const wasActive = rows[0]?.active ?? !gone;
  await appendLedger(tx, [
    {
      type: gone ? 'user.deprovisioned' : 'user.provisioned',
      level: gone && wasActive ? 'warning' : 'info',
      message: `"${provider}" ${gone ? 'deactivated' : 'provisioned'} ${after.userName}`,
      actor,
      ...(ids.length === 1 && ids[0] !== undefined ? { userId: ids[0] } : {}),
      provider,
      data: { provisioned_id: after.id, user_name: after.userName, active: after.active, users: ids },
    },
  ]);
  if (ids.length === 0 && addresses.length === 0 && former.length === 0) return [];
  const [user] =
    ids.length === 0 ? [] : await tx.select({ email: users.email }).from(users).where(inArray(users.id, ids));
  const known = await describeKnown(tx, { email: user?.email ?? after.userName, ids, addresses, former });
  const { jobs } = await endPeople(withActor(ctx, actor), tx, known, {
    name: `"${provider}"`,
    reason: 'deprovisioned',
  });
  return jobs;
}

/**
 * Returns the present and former addresses of a person who has left, if the directory is trusted for them. Leaves out an address of
 * another person who stays: of a user who signed in with it, or of another active account. The user name of the account that has
 * left counts as an address of another account only when it is also the user name of that account (`settleProvisioned`).
 */
async function findTheirs(
  ctx: Store,
  tx: Transaction,
  provider: string,
  { after, left }: { after: Row; left: readonly string[] },
): Promise<[string[], FormerAddress[]]> {
  const { userId, emailFolded } = userIdentities;
  const all = [...after.addresses, ...after.former.map(({ address }) => address)];
  if (all.length === 0) return [[], []];
  const signedIn = await tx
    .select({ provider: userIdentities.provider, address: emailFolded })
    .from(userIdentities)
    .innerJoin(users, and(eq(users.id, userId), isNull(users.deprovisionedAt)))
    .where(and(inArray(emailFolded, all), notInArray(userId, [...left])));
  const { provider: directory, addresses, userNameFolded, active, deletedAt, id } = provisionedUsers;
  const has = (address: string) => sql`${addresses} @> ${JSON.stringify([address])}::text::jsonb`;
  const others = await tx
    .select({ provider: directory, addresses, name: userNameFolded })
    .from(provisionedUsers)
    .where(and(ne(id, after.id), eq(active, true), isNull(deletedAt), or(...all.map(has))));
  const staying = [
    ...signedIn,
    ...others.flatMap((other) =>
      other.addresses
        .filter((address) => address !== after.userNameFolded || address === other.name)
        .map((address) => ({ provider: other.provider, address })),
    ),
  ];
  const isAnothers = (address: string) =>
    staying.some((one) => one.address === address && isTrusted(ctx, one.provider, address));
  const isTheirs = (address: string) => isTrusted(ctx, provider, address) && !isAnothers(address);
  return [after.addresses.filter(isTheirs), after.former.filter(({ address }) => isTheirs(address))];
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
