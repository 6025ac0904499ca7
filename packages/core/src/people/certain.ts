import {
  accountAttachments,
  attachments,
  type Database,
  provisionedUsers,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import type { Login } from '@belay/providers';
import { and, desc, eq, inArray, isNull, ne, notInArray, or, type SQL, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isTrusted } from './admission.js';
import type { Known } from './known.js';
import { foldAddress, foldName, nameOfLogin } from './names.js';

/*
 * **Is certainly the same person?** What links a sign-in, tells a person, or ends all that they have. The safe side is no: in doubt no
 * one is linked, and no one loses anything. It is answered by the ids of accounts; by an address only while it is attached, and only
 * where the provider is trusted for it. What was once certain stays so: a directory's deactivation ends all that was ever attached to its
 * account, also after a rename. It does not reach who gets the address later, nor a person who is hired again.
 */

type Db = Database | Transaction;

/** Returns the identities that have an address now, the latest first. */
export function identitiesWith(db: Db, address: string): Promise<(typeof userIdentities.$inferSelect)[]> {
  return db
    .select()
    .from(userIdentities)
    .where(eq(userIdentities.emailFolded, foldName(address)))
    .orderBy(desc(userIdentities.updatedAt));
}

/** Matches identities that have one of some folded addresses now, or one of some groups under its name at the provider. */
export function isNamedBy({ addresses, groups }: { addresses: readonly string[]; groups: readonly string[] }): SQL {
  return sql`(${userIdentities.emailFolded} = any(${listOf(addresses)}) or ${userIdentities.groups} ?| ${listOf(groups)})`;
}

/** Returns a list of texts as one parameter, so that the text of the statement is always the same. */
export const listOf = (texts: readonly string[]) =>
  sql`array(select jsonb_array_elements_text(${JSON.stringify([...new Set(texts)])}::text::jsonb))`;

/** Returns the only person whom a provider that is trusted for the address knows by it; `several` when there are more, so that none is chosen. */
export async function findTrustedOwner(ctx: Store, db: Db, address: string): Promise<string | 'several' | undefined> {
  const folded = foldAddress(address);
  if (folded === undefined) return undefined;
  const same = await identitiesWith(db, folded);
  const owners = new Set(same.filter(({ provider }) => isTrusted(ctx, provider, folded)).map(({ userId }) => userId));
  const [owner] = owners;
  return owners.size > 1 ? 'several' : owner;
}

/** Attaches a user of a chat to the person for whom they act, once. */
export async function attachChat(db: Db, userId: string, user: Login): Promise<void> {
  const name = nameOfLogin(user);
  await db.execute(sql`
    insert into ${attachments} (user_id, provider, kind, name) select ${userId}::uuid, ${user.provider}::text, 'chat', ${name}::text
      where not exists (select from ${attachments} a where a.user_id = ${userId}::uuid and a.kind = 'chat' and a.name = ${name})`);
}

/** An account of a directory that is that of an identity by what both say now; a lower rank is a more certain match. */
interface Match {
  userId: string;
  /** The identity. */
  provider: string;
  subject: string;
  email: string | null;
  /** The account. */
  id: string;
  from: string;
  gone: boolean;
  deleted: boolean;
  createdAt: string;
  /** Whether another person has the account. */
  taken: boolean;
  /** 1: the account has the subject of the sign-in. 2: it has the address as its user name. 3: it has the address. */
  rank: number;
}

/** An account of a directory that was found to be that of a person, then or now. */
interface Attached {
  userId: string;
  id: string;
  from: string;
  gone: boolean;
  proof: 'subject' | 'address';
}

/** The account that decides for a person at one directory, and how it is known. */
export interface Decided {
  userId: string;
  from: string;
  id: string;
  gone: boolean;
  proof: 'subject' | 'address';
  /** Whether it is attached to the person already, by the same proof. */
  attached: boolean;
}

/** The identity that a sign-in has just proved. */
interface Fresh {
  provider: string;
  subject: string;
}

/**
 * Returns which account of each directory decides for each person: their latest. `source` is a query of the identities of these people:
 * `user_id`, `provider`, `subject`, `email_folded`.
 *
 * 1. At its own provider, the account whose `externalId` or `userName` is the subject of the sign-in; of several that the directory has not
 *    deleted, the newest.
 * 2. Otherwise the account that was the person's before, also under another name.
 * 3. Otherwise the one with the address as `userName`; otherwise one with it among `emails`. At another provider these two count only
 *    where the directory is trusted for the address, and the person has no account at the directory by an identity of theirs there.
 *
 * A better match by address replaces a worse one. An account that has ended is replaced by one of the same address only in a sign-in
 * that proves the address now, at the directory or a provider that is trusted for it, and only by an account that no other person has: the person was hired again.
 */
export async function decideAccounts(ctx: Store, db: Db, source: SQL, fresh?: Fresh): Promise<Decided[]> {
  const [matches, attached] = [await readMatches(ctx, db, source), await readAttached(ctx, db, source)];
  const keys = new Map([...matches, ...attached].map(({ userId, from }) => [`${userId} ${from}`, { userId, from }]));
  return [...keys.values()].flatMap(({ userId, from }) => {
    const isOf = (one: { userId: string; from: string }) => one.userId === userId && one.from === from;
    const isTrustedFor = ({ provider, email }: Match) =>
      provider === from || (email !== null && isTrusted(ctx, provider, email));
    const chosen = decideAccount(matches.filter(isOf), attached.filter(isOf), { fresh, isTrustedFor });
    return chosen === undefined ? [] : [{ userId, from, ...chosen }];
  });
}

function decideAccount(
  all: readonly Match[],
  attached: readonly Attached[],
  { fresh, isTrustedFor }: { fresh: Fresh | undefined; isTrustedFor: (match: Match) => boolean },
) {
  const current = bestOf(all);
  const [before] = attached;
  const choose = ({ id, gone }: { id: string; gone: boolean }, proof: Decided['proof']) => ({
    id,
    gone,
    proof,
    attached: before?.id === id && (before.proof === proof || before.proof === 'subject'),
  });
  if (current?.rank === 1) return choose(current, 'subject');
  if (before === undefined || current === undefined || current.id === before.id) {
    const one = before ?? current;
    return one && choose(one, before?.proof ?? 'address');
  }
  const held = all.filter(({ id }) => id === before.id).map(({ rank }) => rank);
  const isBetter = before.proof === 'address' && held.length > 0 && current.rank < Math.min(...held);
  const isProved = all.some(
    (one) =>
      one.id === current.id && one.provider === fresh?.provider && one.subject === fresh.subject && isTrustedFor(one),
  );
  const isHiredAgain = before.gone && !current.gone && !current.taken && isProved;
  return isBetter || isHiredAgain ? choose(current, 'address') : choose(before, before.proof);
}

/** Returns the best match of a person at one directory: of equal ones an account that was not deleted, then the newest. */
function bestOf(all: readonly Match[]): Match | undefined {
  const [best] = [...all].sort(
    (a, b) =>
      a.rank - b.rank ||
      Number(a.deleted) - Number(b.deleted) ||
      b.createdAt.localeCompare(a.createdAt) ||
      b.id.localeCompare(a.id),
  );
  return best;
}

async function readMatches(ctx: Store, db: Db, source: SQL): Promise<Match[]> {
  const rows = await db.execute<{ [key in keyof Match]: unknown }>(sql`
    with own as (${source})
    select own.user_id as "userId", own.provider, own.subject, own.email_folded as email, p.id, p.provider as "from",
      (p.deleted_at is not null or not p.active) as gone, p.deleted_at is not null as deleted,
      to_char(p.created_at at time zone 'utc', 'YYYYMMDDHH24MISSMS') as "createdAt",
      exists (select from ${accountAttachments} c where c.account_id = p.id and c.user_id <> own.user_id and c.until is null) as taken,
      case when p.provider = own.provider and own.subject in (p.external_id, p.user_name, p.user_name_folded) then 1
        when p.user_name_folded = own.email_folded then 2 else 3 end as rank
    from own join ${provisionedUsers} p
      on (p.provider = own.provider and (p.external_id = own.subject or p.user_name = own.subject or p.user_name_folded = own.subject))
      or p.user_name_folded = own.email_folded
      or p.addresses @> jsonb_build_array(own.email_folded)`);
  const { authenticators } = ctx.catalog.current();
  const matches = ([...rows] as unknown as Match[])
    .map((row) => ({ ...row, rank: Number(row.rank) }))
    .filter(({ from }) => authenticators.includes(from));
  return matches.filter(({ userId, provider, from, email }) => {
    if (provider === from) return true;
    // Where the person has an account at that provider, only this account counts.
    const isKnown = matches.some((one) => one.userId === userId && one.from === from && one.provider === from);
    return !isKnown && email !== null && isTrusted(ctx, from, email);
  });
}

/** Returns the accounts that were ever attached to people, the latest first. */
async function readAttached(ctx: Store, db: Db, source: SQL): Promise<Attached[]> {
  const { userId, accountId, provider, proof, id } = accountAttachments;
  const rows = await db
    .select({
      userId,
      id: accountId,
      from: provider,
      proof,
      gone: sql<boolean>`(${provisionedUsers.deletedAt} is not null or not ${provisionedUsers.active})`,
    })
    .from(accountAttachments)
    .innerJoin(provisionedUsers, eq(provisionedUsers.id, accountId))
    .where(sql`${userId} in (select user_id from (${source}) own)`)
    .orderBy(sql`${id} desc`);
  const { authenticators } = ctx.catalog.current();
  return rows.filter(({ from }) => authenticators.includes(from));
}

/** Attaches the accounts that decide to their people, and closes the attachments that these replace. */
export async function attachAccounts(tx: Transaction, decided: readonly Decided[]): Promise<void> {
  for (const { userId, id, from, proof } of decided.filter((one) => !one.attached)) {
    const own = and(eq(accountAttachments.userId, userId), eq(accountAttachments.provider, from));
    await tx
      .update(accountAttachments)
      .set({ until: sql`app_now()` })
      .where(and(own, isNull(accountAttachments.until)));
    await tx.insert(accountAttachments).values({ userId, accountId: id, provider: from, proof });
  }
}

/**
 * Returns the ids of the users that accounts of directories may describe: by subject or address, or because an account was
 * attached to them. Pass the rows from before and after a change; `decideAccounts` decides whom they describe.
 */
export async function findDescribed(
  tx: Transaction,
  rows: readonly (typeof provisionedUsers.$inferSelect)[],
): Promise<string[]> {
  const keys = rows.map(({ id, provider, externalId, userName, userNameFolded, addresses }) => ({
    id,
    provider,
    subjects: [externalId, userName, userNameFolded].filter((text) => text !== null),
    addresses: [...addresses, userNameFolded],
  }));
  const found = await tx.execute<{ id: string }>(sql`
    with keys as (select * from jsonb_to_recordset(${JSON.stringify(keys)}::text::jsonb)
      as key (id uuid, provider text, subjects jsonb, addresses jsonb))
    select i.user_id as id from keys, jsonb_array_elements_text(keys.subjects) subject
      join ${userIdentities} i on i.subject = subject where i.provider = keys.provider
    union
    select i.user_id from keys, jsonb_array_elements_text(keys.addresses) address
      join ${userIdentities} i on i.email_folded = address
    union
    select c.user_id from keys join ${accountAttachments} c on c.account_id = keys.id`);
  return [...found].map(({ id }) => id);
}

/**
 * Returns the present and former addresses of a person whose account at a directory has ended, if the directory is trusted for them.
 * Leaves out an address of another person who stays: of a user who signed in with it, or of another active account. The user name of
 * the account counts as an address of another account only when it is also the user name of that account.
 */
export async function addressesOfLeaver(
  ctx: Store,
  tx: Transaction,
  account: typeof provisionedUsers.$inferSelect,
  left: readonly string[],
): Promise<Pick<Known, 'names' | 'former'>> {
  const all = await tx
    .select({ address: attachments.name, until: attachments.until })
    .from(attachments)
    .where(eq(attachments.accountId, account.id));
  if (all.length === 0) return { names: [], former: [] };
  const staying = await readStaying(tx, account, { left, addresses: all.map(({ address }) => address) });
  const isAnothers = (address: string) =>
    staying.some((one) => one.address === address && isTrusted(ctx, one.provider, address));
  const isTheirs = (address: string) => isTrusted(ctx, account.provider, address) && !isAnothers(address);
  return {
    names: account.addresses.filter(isTheirs),
    former: all.flatMap(({ address, until }) =>
      until !== null && !account.addresses.includes(address) && isTheirs(address) ? [{ address, until }] : [],
    ),
  };
}

async function readStaying(
  tx: Transaction,
  account: typeof provisionedUsers.$inferSelect,
  { left, addresses: all }: { left: readonly string[]; addresses: readonly string[] },
): Promise<{ provider: string; address: string | null }[]> {
  const { userId, emailFolded } = userIdentities;
  const signedIn = await tx
    .select({ provider: userIdentities.provider, address: emailFolded })
    .from(userIdentities)
    .innerJoin(users, and(eq(users.id, userId), isNull(users.deprovisionedAt)))
    .where(and(inArray(emailFolded, [...all]), notInArray(userId, [...left])));
  const { provider: directory, addresses, userNameFolded, active, deletedAt, id } = provisionedUsers;
  const has = (address: string) => sql`${addresses} @> ${JSON.stringify([address])}::text::jsonb`;
  const others = await tx
    .select({ provider: directory, addresses, name: userNameFolded })
    .from(provisionedUsers)
    .where(and(ne(id, account.id), eq(active, true), isNull(deletedAt), or(...all.map(has))));
  return [
    ...signedIn,
    ...others.flatMap((other) =>
      other.addresses
        .filter((address) => address !== account.userNameFolded || address === other.name)
        .map((address) => ({ provider: other.provider, address })),
    ),
  ];
}
