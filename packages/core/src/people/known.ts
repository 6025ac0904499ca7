import {
  approvals,
  attachments,
  type Database,
  executions,
  grants,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { and, asc, type Column, eq, inArray, isNotNull, isNull, like, or, type SQL, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isTrusted } from './admission.js';
import { foldName, namesOf } from './names.js';
import { toPerson } from './people.js';

/*
 * **Every name, with its time.** Finds access, requests and people by all that was ever attached to a person. The safe side is to
 * find: a former name finds what was requested while it was theirs, and nothing of the person who has it now.
 */

type Db = Database | Transaction;

/** A folded address that a person had before it was another one. */
export interface FormerAddress {
  address: string;
  /** When it was replaced. */
  until: Date;
}

/** The people with an address, and every name by which a provider may know them. */
export interface Known {
  /** The first person's address in Belay, or the given address, for messages. */
  email: string;
  /** Empty for a person who never signed in: colleagues may still have requested access for them. */
  ids: string[];
  names: string[];
  /** Their former addresses, by which requests from before the change are found. */
  former: FormerAddress[];
}

/**
 * Returns the people who have an address; when no one has it now, those who had it. With `lock`, locks their rows first. The person who has
 * the address now may be another one than who had it, so the two are not found together.
 */
export async function findKnown(ctx: Store, db: Db, address: string, lock = false): Promise<Known> {
  const holders = await readHolders(db, address);
  const now = holders.filter(({ until }) => until === null);
  const found = await readUsers(
    db,
    (now.length > 0 ? now : holders).map(({ userId }) => userId),
    lock,
  );
  return describeKnown(ctx, db, {
    email: found[0]?.email ?? address,
    ids: found.map(({ id }) => id),
    names: [foldName(address)],
    former: [],
  });
}

async function readUsers(db: Db, ids: readonly string[], lock: boolean): Promise<{ id: string; email: string }[]> {
  if (ids.length === 0) return [];
  const people = db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(inArray(users.id, [...ids]))
    .orderBy(asc(users.id));
  return lock ? people.for('no key update') : people;
}

/** Returns the users who have or had an address; the text of an address that cannot be compared must be exactly the same. */
async function readHolders(db: Db, address: string): Promise<{ userId: string; until: Date | null }[]> {
  const exact = await db
    .select({ userId: userIdentities.userId })
    .from(userIdentities)
    .where(and(isNull(userIdentities.emailFolded), eq(userIdentities.email, address)));
  const attached = await db
    .select({ userId: sql<string>`${attachments.userId}`, until: attachments.until })
    .from(attachments)
    .where(hadAddress(address));
  return [...exact.map(({ userId }) => ({ userId, until: null })), ...attached];
}

function hadAddress(address: string): SQL | undefined {
  return and(isNotNull(attachments.userId), eq(attachments.kind, 'address'), eq(attachments.name, foldName(address)));
}

/** Matches the id of a user who has or had this address. */
export function isKnownAs(db: Db, id: Column | SQL, address: string): SQL {
  return inArray(sql`${id}`, db.select({ id: attachments.userId }).from(attachments).where(hadAddress(address)));
}

/** Matches the id of a user who has or had an address with these letters in it. */
export function hasAddressLike(db: Db, id: Column | SQL, part: string): SQL {
  const pattern = `%${foldName(part).replace(/[\\%_]/g, '\\$&')}%`;
  return inArray(
    sql`${id}`,
    db
      .select({ id: attachments.userId })
      .from(attachments)
      .where(and(isNotNull(attachments.userId), eq(attachments.kind, 'address'), like(attachments.name, pattern))),
  );
}

/** Returns the ids of the people who have or had this address. */
export async function idsKnownAs(db: Db, address: string): Promise<string[]> {
  return [...new Set((await readHolders(db, address)).map(({ userId }) => userId))];
}

/**
 * Returns people with all their names, and with names that are known to be theirs or to have been theirs. An address that has since come to
 * another person, at a provider that is trusted for it, was theirs until then, also when their own provider has not said so yet.
 */
export async function describeKnown(ctx: Store, db: Db, { email, ids, names, former }: Known): Promise<Known> {
  if (ids.length === 0) return { email, ids, names, former };
  const identities = await db.select().from(userIdentities).where(inArray(userIdentities.userId, ids));
  const own = await db
    .select({ name: attachments.name, since: attachments.since, until: attachments.until })
    .from(attachments)
    .where(and(eq(attachments.kind, 'address'), isNotNull(attachments.userId), inArray(attachments.userId, ids)));
  const taken = await readTaken(ctx, db, ids);
  const open = own.filter(({ until }) => until === null);
  const lost = open.flatMap(({ name }) => taken.filter((one) => one.name === name));
  const isLost = (name: string) => lost.some((one) => one.name === name);
  const closed = own.flatMap(({ name, until }) => (until === null ? [] : [{ address: name, until }]));
  return {
    email,
    ids,
    names: [...new Set([...names, ...namesOf(identities.map(toPerson)).filter((name) => !isLost(name))])],
    former: [...former, ...closed, ...lost.map(({ name, since }) => ({ address: name, until: since }))],
  };
}

/** Returns the addresses of people that another person has now, with the time since when. */
async function readTaken(ctx: Store, db: Db, ids: readonly string[]): Promise<{ name: string; since: Date }[]> {
  const list = sql`(select jsonb_array_elements_text(${JSON.stringify(ids)}::text::jsonb)::uuid)`;
  const rows = await db.execute<{ name: string; since: string; provider: string }>(sql`
    select b.name, b.since, b.provider from ${attachments} a
      join ${attachments} b on b.name = a.name and b.kind = a.kind and b.until is null and b.since > a.since
      join ${users} u on u.id = b.user_id and u.deprovisioned_at is null
      where a.user_id in ${list} and a.kind = 'address' and a.until is null and b.user_id not in ${list}`);
  return [...rows]
    .filter(({ name, provider }) => isTrusted(ctx, provider, name))
    .map(({ name, since }) => ({ name, since: new Date(since) }));
}

/**
 * Matches grants that people requested, or that give access to an account of theirs, by a name that they
 * have now or had when the access was requested.
 */
export function isAccessOf(known: Known): SQL | undefined {
  return or(inArray(grants.userId, known.ids), isNamed(sql`${grants.knownAs}`, grants.executionId, known));
}

/**
 * Matches executions that people requested, or that request access for one of their names. A request for an identity by
 * its id at the provider is found by the names that the provider returned when the request was made, or when its
 * approvers were asked.
 */
export function isRequestOf(known: Known): SQL | undefined {
  const asked = sql`coalesce(${executions.input} -> 'elevated', '[]')`;
  const { knownAs, executionId } = approvals;
  const shownTo = sql`exists (select from ${approvals} where ${executionId} = ${executions.id} and ${isNamed(sql`${knownAs}`, executions.id, known)})`;
  return or(inArray(executions.ownerId, known.ids), isNamed(asked, executions.id, known), shownTo);
}

/**
 * Matches a JSON array of names that contains one of these people's names, or one that was theirs when an execution was requested. A former
 * name finds only requests for others. Requests of people for themselves are found by their ids, and their former address may have become
 * another person's.
 */
function isNamed(account: SQL, executionId: Column, { names, former }: Known): SQL {
  const list = sql`array(select jsonb_array_elements_text(${JSON.stringify(names)}::text::jsonb))`;
  const now = sql`coalesce(jsonb_exists_any(${account}, ${list}), false)`;
  if (former.length === 0) return now;
  // A change has the time at which its transaction began. Until it is committed, people can still request with the old
  // address.
  return sql`(${now} or exists (
    select from jsonb_to_recordset(${JSON.stringify(former)}::text::jsonb) as former (address text, until timestamptz)
    join ${executions} made on made.id = ${executionId} and made.input -> 'identities' <> '[]' and not exists (
      select from ${attachments} own where own.user_id = made.owner_id and own.kind = 'address' and own.name = former.address)
    where made.created_at <= former.until + interval '1 minute' and jsonb_exists(${account}, former.address)))`;
}
