import {
  approvals,
  type Database,
  entitlements,
  executions,
  type FormerAddress,
  grants,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { asc, type Column, inArray, or, type SQL, sql } from 'drizzle-orm';
import { foldName, namesOf } from './names.js';
import { isKnownAs, toPerson } from './people.js';

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

/** Returns the people that one of their providers knows by an address; with `lock`, locks their rows first. */
export async function findKnown(db: Database | Transaction, address: string, lock = false): Promise<Known> {
  const people = db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(isKnownAs(db, users.id, address))
    .orderBy(asc(users.id));
  const found = await (lock ? people.for('no key update') : people);
  const ids = found.map(({ id }) => id);
  return describeKnown(db, { email: found[0]?.email ?? address, ids, addresses: [address], former: [] });
}

/** Returns people with all their names, and with addresses that are known to be theirs or to have been theirs. */
export async function describeKnown(
  db: Database | Transaction,
  { email, ids, addresses, former }: Omit<Known, 'names'> & { addresses: readonly string[] },
): Promise<Known> {
  const identities =
    ids.length === 0 ? [] : await db.select().from(userIdentities).where(inArray(userIdentities.userId, ids));
  const given = addresses.flatMap((address) => [address.toLowerCase(), foldName(address)]);
  return {
    email,
    ids,
    names: [...new Set([...given, ...namesOf(identities.map(toPerson))])],
    former: [...former, ...identities.flatMap((identity) => identity.former)],
  };
}

/**
 * Matches grants, joined with their entitlements, that people requested, or that give access to an account of theirs, by a name that they
 * have now or had when the access was requested.
 */
export function isAccessOf(known: Known): SQL | undefined {
  // A grant that an older version wrote has no names; the address of its entitlement is used.
  const account = sql`coalesce(${grants.knownAs}, jsonb_build_array(${entitlements.identityEmail}))
    || jsonb_build_array(lower(${entitlements.identity}))`;
  return or(inArray(grants.userId, known.ids), isNamed(account, grants.executionId, known));
}

/**
 * Matches executions that people requested, or that request access for one of their names. A request for an identity by
 * its id at the provider is found by the names that the provider returned when the request was made, or when its
 * approvers were asked.
 */
export function isRequestOf(known: Known): SQL | undefined {
  const asked = sql`(select coalesce(jsonb_agg(lower(one)), '[]') from jsonb_array_elements_text(${executions.input} -> 'identities') one)
    || coalesce(${executions.input} -> 'elevated', '[]')`;
  const { knownAs, subject, executionId } = approvals;
  // An approval that an older version wrote has no names; the addresses of its identities are used.
  const shown = sql`coalesce(${knownAs}, (select jsonb_agg(lower(one ->> 'identityEmail'))
    from jsonb_array_elements(${subject} -> 'grants') one))`;
  const shownTo = sql`exists (select from ${approvals} where ${executionId} = ${executions.id} and ${isNamed(shown, executions.id, known)})`;
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
    join ${executions} made on made.id = ${executionId}
      and made.input -> 'identities' <> '[]' and lower(made.input #>> '{user,email}') is distinct from former.address
    where made.created_at <= former.until + interval '1 minute' and jsonb_exists(${account}, former.address)))`;
}
