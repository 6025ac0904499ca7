import { foldAddress } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import {
  type Database,
  provisionedGroups,
  provisionedMembers,
  provisionedUsers,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { and, asc, eq, inArray, isNotNull, isNull, notInArray, type SQL, sql } from 'drizzle-orm';
import type { Catalog } from '../configuration/catalog.js';
import type { Person, Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { isTrusted } from './admission.js';
import { asPerson } from './people.js';
import type { ProvedIdentity } from './proved.js';

/** A provisioned user that may describe an identity; a lower rank is a more certain match. */
interface Match {
  userId: string;
  /** The identity. */
  provider: string;
  subject: string;
  email: string | null;
  /** The provisioned user. */
  id: string;
  from: string;
  gone: boolean;
  rank: number;
}

const actor = { kind: 'system' as const, name: 'provisioning' };

/**
 * Applies what directories say about some people: who has left, and the groups of the others. Returns the ids of the people who have left.
 * Locks the users, as sign-ins and SCIM requests both do, so that the later of two sees what the earlier wrote.
 */
export async function settleProvisioned(ctx: Store, tx: Transaction, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return [];
  const ids = [...new Set(userIds)];
  await tx
    .select({ id: users.id })
    .from(users)
    .where(inArray(users.id, ids))
    .orderBy(asc(users.id))
    .for('no key update');
  const catalog = ctx.catalog.current();
  const matches = await readMatches(
    ctx,
    tx,
    sql`select user_id, provider, subject, email_folded from ${userIdentities} where ${inArray(userIdentities.userId, ids)}`,
  );
  const left = [...new Set(matches.filter(({ gone }) => gone).map(({ userId }) => userId))];
  await tx
    .update(users)
    .set({ deprovisionedAt: sql`app_now()` })
    .where(and(inArray(users.id, left), isNull(users.deprovisionedAt)));
  const staying = and(inArray(users.id, ids), notInArray(users.id, left), isNotNull(users.deprovisionedAt));
  await tx.update(users).set({ deprovisionedAt: null }).where(staying);
  await replaceGroups(catalog, tx, matches);
  return left;
}

/**
 * Returns the person of an identity that was just proved, with the groups that count. Throws `forbidden` when a
 * directory says that the person has left.
 */
export async function requireStaying(ctx: Store, tx: Transaction, person: Person): Promise<Person> {
  const left = await settleProvisioned(ctx, tx, [person.id]);
  if (left.length > 0) throw deactivated();
  const { provider, subject } = person;
  const [told] = await tx
    .select({ groups: userIdentities.groups })
    .from(userIdentities)
    .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)));
  return asPerson(ctx, { ...person, groups: told?.groups ?? [] });
}

/** Returns an identity with its provisioned groups in place of those of the sign-in, when its provider has them provisioned. */
export async function asProvisioned(ctx: Store, tx: Transaction, proved: ProvedIdentity): Promise<ProvedIdentity> {
  const matches = await matchProved(ctx, tx, proved);
  const [found] = await readGroups(ctx.catalog.current(), tx, matches);
  return found === undefined ? proved : { ...proved, groups: found.groups, organizations: found.groups };
}

function matchProved(ctx: Store, db: Database | Transaction, proved: ProvedIdentity): Promise<Match[]> {
  const nobody = '00000000-0000-0000-0000-000000000000';
  return readMatches(
    ctx,
    db,
    sql`select ${nobody}::uuid as user_id, ${proved.provider}::text as provider, ${proved.subject}::text as subject,
      ${foldAddress(proved.email) ?? null}::text as email_folded`,
  );
}

/**
 * Rejects an identity of a person who has left, and records the rejection in the ledger. Throws `forbidden`. Call it outside of a
 * transaction, so that the record stays.
 */
export async function requireProvisioned(ctx: Store, proved: ProvedIdentity): Promise<void> {
  const { provider, subject, email } = proved;
  const matches = await matchProved(ctx, ctx.db, proved);
  if (!matches.some(({ gone }) => gone)) return;
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

/**
 * Returns the provisioned users that describe some identities. At its own provider, an identity is the account whose `externalId` or
 * `userName` is its subject; otherwise the one with its address as `userName`; otherwise one with its address among `emails`. At another
 * provider that is trusted for the address, only the last two rules apply.
 */
async function readMatches(ctx: Store, db: Database | Transaction, source: SQL): Promise<Match[]> {
  const rows = await db.execute<{ [key in keyof Match]: unknown }>(sql`
    with own as (${source})
    select own.user_id as "userId", own.provider, own.subject, own.email_folded as email, p.id, p.provider as "from",
      (p.deleted_at is not null or not p.active) as gone,
      case when p.provider = own.provider and own.subject in (p.external_id, p.user_name, p.user_name_folded) then 1
        when p.user_name_folded = own.email_folded then 2 else 3 end as rank
    from own join ${provisionedUsers} p
      on (p.provider = own.provider and p.external_id = own.subject)
      or (p.provider = own.provider and p.user_name_folded = lower(own.subject) and own.subject in (p.user_name, p.user_name_folded))
      or p.user_name_folded = own.email_folded
      or p.addresses @> jsonb_build_array(own.email_folded)`);
  const { authenticators } = ctx.catalog.current();
  const matches = ([...rows] as unknown as Match[])
    .map((row) => ({ ...row, rank: Number(row.rank) }))
    .filter(({ from }) => authenticators.includes(from));
  return matches.filter((one) => {
    const rivals = matches.filter(({ userId, from }) => userId === one.userId && from === one.from);
    const known = rivals.filter(({ provider }) => provider === one.from);
    if (one.provider !== one.from) {
      // Where the person has an account at that provider, only this account counts.
      if (known.length > 0 || one.email === null || !isTrusted(ctx, one.from, one.email)) return false;
      return rivals.every(({ email, rank }) => email !== one.email || rank >= one.rank);
    }
    return known.every(({ subject, rank }) => subject !== one.subject || rank >= one.rank);
  });
}

/** Returns the groups of the matched identities whose provider has them provisioned. */
async function readGroups(catalog: Catalog, db: Database | Transaction, matches: readonly Match[]) {
  const own = matches.filter(({ provider, from, gone }) => provider === from && !gone && namingOf(catalog, from));
  if (own.length === 0) return [];
  const memberOf = await db
    .select({ id: provisionedMembers.userId, name: provisionedGroups.displayName, other: provisionedGroups.externalId })
    .from(provisionedMembers)
    .innerJoin(provisionedGroups, eq(provisionedGroups.id, provisionedMembers.groupId))
    .where(inArray(provisionedMembers.userId, [...new Set(own.map(({ id }) => id))]));
  const groupsOf = new Map<string, typeof memberOf>();
  for (const group of memberOf) groupsOf.set(group.id, [...(groupsOf.get(group.id) ?? []), group]);
  const found = new Map<string, { provider: string; subject: string; groups: Set<string> }>();
  for (const { provider, subject, id } of own) {
    const key = JSON.stringify([provider, subject]);
    const one = found.get(key) ?? { provider, subject, groups: new Set<string>() };
    found.set(key, one);
    for (const group of groupsOf.get(id) ?? []) {
      const name = namingOf(catalog, provider) === 'external_id' ? group.other : group.name;
      if (name !== null) one.groups.add(name);
    }
  }
  return [...found.values()].map(({ groups, ...one }) => ({ ...one, groups: [...groups].sort() }));
}

/** Stores the groups of identities whose provider has them provisioned, and records what changed. */
async function replaceGroups(catalog: Catalog, tx: Transaction, matches: readonly Match[]): Promise<void> {
  const wanted = await readGroups(catalog, tx, matches);
  if (wanted.length === 0) return;
  const changed = await tx.execute<{
    user_id: string;
    email: string;
    provider: string;
    before: string[];
    after: string[];
  }>(sql`
    with wanted as (
      select * from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) as one (provider text, subject text, groups jsonb)),
    before as (
      select i.provider, i.subject, i.groups as before, wanted.groups as after from ${userIdentities} i
        join wanted using (provider, subject)
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
function namingOf(catalog: Catalog, provider: string): 'display_name' | 'external_id' | undefined {
  const naming = catalog.providers.get(provider)?.definition.scim?.groups;
  return naming === 'sign_in' ? undefined : naming;
}
