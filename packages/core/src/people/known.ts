import { foldAddress } from '@belay/contract/address';
import {
  approvals,
  type Database,
  entitlements,
  executions,
  grants,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { asc, inArray, or, type SQL, sql } from 'drizzle-orm';
import { isKnownAs } from './people.js';

/** The people with an address, and every name that a provider may know them by, in lower case. */
export interface Known {
  /** The person's name here, for messages. */
  email: string;
  /** None for a person who never signed in: colleagues may still have requested access for them. */
  ids: string[];
  names: string[];
}

/** Returns the people that one of their providers knows by an address; with `lock`, their rows are locked first. */
export async function findKnown(db: Database | Transaction, address: string, lock = false): Promise<Known> {
  const people = db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(isKnownAs(db, users.id, address))
    .orderBy(asc(users.id));
  const found = await (lock ? people.for('no key update') : people);
  const ids = found.map(({ id }) => id);
  return { email: found[0]?.email ?? address, ids, names: await listNames(db, ids, [address]) };
}

/** Returns the names of people, beside addresses that are known to be theirs. */
export async function listNames(
  db: Database | Transaction,
  ids: string[],
  addresses: readonly string[],
): Promise<string[]> {
  const identities =
    ids.length === 0 ? [] : await db.select().from(userIdentities).where(inArray(userIdentities.userId, ids));
  const names = [
    ...addresses.flatMap((address) => [address, foldAddress(address) ?? address]),
    ...identities.flatMap(({ email, subject }) => [email, subject]),
  ];
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

/**
 * Matches grants, beside their entitlements, that people requested or that give access to one of their names: an identity of
 * such a name, or one that has such an address at its provider.
 */
export function isAccessOf({ ids, names }: Known): SQL | undefined {
  return or(
    inArray(grants.userId, ids),
    sql`lower(${entitlements.identity}) in ${listed(names)}`,
    sql`${entitlements.identityEmail} in ${listed(names)}`,
  );
}

/**
 * Matches executions that people requested, or that request access for one of their names. A request for an identity by
 * its id at the provider is found by what the provider said when it was made, or by what its approvers were shown.
 */
export function isRequestOf({ ids, names }: Known): SQL | undefined {
  const named = sql`exists (select from jsonb_array_elements_text(${executions.input} -> 'identities') as asked
    where lower(asked) in ${listed(names)})`;
  const shown = sql`exists (select from ${approvals}, jsonb_array_elements(${approvals.subject} -> 'grants') as one
    where ${approvals.executionId} = ${executions.id} and lower(one ->> 'identityEmail') in ${listed(names)})`;
  const elevated = sql`exists (select from jsonb_array_elements_text(${executions.input} -> 'elevated') as one
    where one in ${listed(names)})`;
  return or(inArray(executions.ownerId, ids), named, elevated, shown);
}

function listed(names: readonly string[]): SQL {
  return sql`(select jsonb_array_elements_text(${JSON.stringify(names)}::text::jsonb))`;
}
