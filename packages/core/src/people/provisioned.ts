import { foldAddress } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import {
  type Database,
  provisionedGroups,
  provisionedMembers,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { and, eq, inArray, isNotNull, isNull, notInArray, type SQL, sql } from 'drizzle-orm';
import type { Catalog } from '../configuration/catalog.js';
import type { Person, Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { attachAccounts, type Decided, decideAccounts } from './certain.js';
import { asPerson, lockUsers } from './people.js';
import type { ProvedIdentity } from './proved.js';

const actor = { kind: 'system' as const, name: 'provisioning' };

/** The id of no user: an identity of a person who is not known yet. */
const noUser = '00000000-0000-0000-0000-000000000000';

/** A person who has left, the account that says so, and whether it is only now that they leave. */
export interface Left {
  userId: string;
  accountId: string;
  now: boolean;
}

/**
 * Applies what directories say about some people: who has left, and the groups of the others. Returns the people who have left. Locks the users, as sign-ins and SCIM requests both do, so that the later of two sees what the earlier wrote.
 * `fresh` is the identity that its provider has just proved.
 */
export async function settleProvisioned(
  ctx: Store,
  tx: Transaction,
  userIds: readonly string[],
  fresh?: Pick<Person, 'provider' | 'subject'>,
): Promise<Left[]> {
  if (userIds.length === 0) return [];
  const ids = [...new Set(userIds)];
  await lockUsers(tx, ids);
  const decided = await decideAccounts(ctx, tx, identitiesOf(inArray(userIdentities.userId, ids)), fresh);
  await attachAccounts(tx, decided);
  const left = decided.filter(({ gone }) => gone);
  const gone = [...new Set(left.map(({ userId }) => userId))];
  const leaving = await tx
    .update(users)
    .set({ deprovisionedAt: sql`app_now()` })
    .where(and(inArray(users.id, gone), isNull(users.deprovisionedAt)))
    .returning({ id: users.id });
  const staying = and(inArray(users.id, ids), notInArray(users.id, gone), isNotNull(users.deprovisionedAt));
  await tx.update(users).set({ deprovisionedAt: null }).where(staying);
  await replaceGroups(ctx.catalog.current(), tx, decided);
  return left.map(({ userId, id }) => ({ userId, accountId: id, now: leaving.some((one) => one.id === userId) }));
}

const identitiesOf = (which: SQL) =>
  sql`select user_id, provider, subject, email_folded from ${userIdentities} where ${which}`;

/**
 * Returns the person of an identity that was just proved, with the groups that count. Throws `forbidden` when a
 * directory says that the person has left.
 */
export async function requireStaying(ctx: Store, tx: Transaction, person: Person): Promise<Person> {
  const { provider, subject } = person;
  const left = await settleProvisioned(ctx, tx, [person.id], { provider, subject });
  if (left.length > 0) throw deactivated();
  const [told] = await tx
    .select({ groups: userIdentities.groups })
    .from(userIdentities)
    .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)));
  return asPerson(ctx, { ...person, groups: told?.groups ?? [] });
}

/** Returns an identity with its provisioned groups in place of those of the sign-in, when its provider has them provisioned. */
export async function asProvisioned(ctx: Store, tx: Transaction, proved: ProvedIdentity): Promise<ProvedIdentity> {
  const decided = await decideProved(ctx, tx, proved);
  const [found] = await readGroups(
    ctx.catalog.current(),
    tx,
    decided.filter(({ from }) => from === proved.provider),
  );
  return found === undefined ? proved : { ...proved, groups: found.groups, organizations: found.groups };
}

/** Returns which accounts decide for the person of an identity that its provider has just proved. */
function decideProved(ctx: Store, db: Database | Transaction, proved: ProvedIdentity): Promise<Decided[]> {
  const { provider, subject, email } = proved;
  const own = sql`(select user_id from ${userIdentities} where provider = ${provider} and subject = ${subject})`;
  const others = sql`user_id = ${own} and not (provider = ${provider} and subject = ${subject})`;
  return decideAccounts(
    ctx,
    db,
    sql`select coalesce(${own}, ${noUser}::uuid) as user_id, ${provider}::text as provider, ${subject}::text as subject,
      ${foldAddress(email) ?? null}::text as email_folded union all ${identitiesOf(others)}`,
    { provider, subject },
  );
}

/**
 * Rejects an identity of a person who has left, and records the rejection in the ledger. Throws `forbidden`. Call it outside of a
 * transaction, so that the record stays.
 */
export async function requireProvisioned(ctx: Store, proved: ProvedIdentity): Promise<void> {
  const { provider, subject, email } = proved;
  const decided = await decideProved(ctx, ctx.db, proved);
  if (!decided.some(({ gone }) => gone)) return;
  await appendLedger(ctx.db, [
    {
      type: 'login.refused',
      level: 'warning',
      message: `${email} was not signed in with ${provider}: deactivated by SCIM`,
      actor: { kind: 'system', name: 'logins' },
      provider,
      data: { email, subject, condition: 'scim' },
    },
  ]);
  throw deactivated();
}

function deactivated(): AccessError {
  return new AccessError('forbidden', 'Your directory has deactivated your account here');
}

/** Returns the groups of people at the directories that provision them, where these groups count. */
async function readGroups(catalog: Catalog, db: Database | Transaction, decided: readonly Decided[]) {
  const own = decided.filter(({ from, gone }) => !gone && namingOf(catalog, from));
  if (own.length === 0) return [];
  const memberOf = await db
    .select({ id: provisionedMembers.userId, name: provisionedGroups.displayName, other: provisionedGroups.externalId })
    .from(provisionedMembers)
    .innerJoin(provisionedGroups, eq(provisionedGroups.id, provisionedMembers.groupId))
    .where(inArray(provisionedMembers.userId, [...new Set(own.map(({ id }) => id))]));
  return own.map(({ userId, from, id }) => {
    const naming = namingOf(catalog, from);
    const names = memberOf
      .filter((one) => one.id === id)
      .map((one) => (naming === 'external_id' ? one.other : one.name));
    const groups = [...new Set(names.filter((name) => name !== null))].sort();
    return { user_id: userId, provider: from, groups };
  });
}

/** Stores the groups of identities whose provider has them provisioned, and records what changed. */
async function replaceGroups(catalog: Catalog, tx: Transaction, decided: readonly Decided[]): Promise<void> {
  const wanted = await readGroups(catalog, tx, decided);
  if (wanted.length === 0) return;
  const changed = await tx.execute<{
    user_id: string;
    email: string;
    provider: string;
    before: string[];
    after: string[];
  }>(sql`
    with wanted as (
      select * from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) as one (user_id uuid, provider text, groups jsonb)),
    before as (
      select i.provider, i.subject, i.groups as before, wanted.groups as after from ${userIdentities} i
        join wanted using (user_id, provider)
        where not (i.groups @> wanted.groups and wanted.groups @> i.groups) for update of i),
    described as (
      update ${users} u set groups = before.after, updated_at = app_now() from before
        where u.provider = before.provider and u.subject = before.subject)
    update ${userIdentities} i set groups = before.after, organizations = before.after, updated_at = app_now() from before
      where i.provider = before.provider and i.subject = before.subject
      returning i.user_id, i.email, i.provider, before.before, before.after`);
  await appendLedger(
    tx,
    [...changed].map(({ user_id, email, provider, before, after }) => ({
      type: 'groups.changed',
      message: `"${provider}" provisioned different groups for ${email}`,
      actor,
      userId: user_id,
      provider,
      data: {
        left: before.filter((group) => !after.includes(group)),
        joined: after.filter((group) => !before.includes(group)),
      },
    })),
  );
}

/** Returns which name of provisioned groups counts at a provider; undefined where they do not count. */
export function namingOf(catalog: Catalog, provider: string): 'display_name' | 'external_id' | undefined {
  const naming = catalog.providers.get(provider)?.definition.scim?.groups;
  return naming === 'sign_in' ? undefined : naming;
}
