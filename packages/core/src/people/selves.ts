import { type Database, type Transaction, userIdentities } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Person } from '../context.js';
import { toPerson } from './people.js';

/**
 * Returns every identity that the person behind a user has at the providers: those of this user, and those of other users who are known to
 * be the same person. Users are one person when they share a verified address or a subject of the same issuer, directly or through others.
 * Nothing is merged: the result only prevents one person from acting as two.
 */
export async function listSelves(db: Database | Transaction, userId: string): Promise<Person[]> {
  const identities = await db
    .select()
    .from(userIdentities)
    .where(sql`${userIdentities.userId} in (
    with recursive self (id) as (
      values (${userId}::uuid)
      union
      select other.user_id from self
        join ${userIdentities} own on own.user_id = self.id
        join ${userIdentities} other
          on other.email_folded = own.email_folded or (other.issuer = own.issuer and other.subject = own.subject)
    ) select id from self)`);
  return identities.map(toPerson);
}

/** Returns how many people some users are: several identities of one person count once. */
export async function countPeople(db: Database | Transaction, userIds: readonly string[]): Promise<number> {
  let rest = [...new Set(userIds)];
  let people = 0;
  while (rest.length > 0) {
    people += 1;
    const [one = '', ...others] = rest;
    const selves = others.length === 0 ? [] : await listSelves(db, one);
    rest = others.filter((other) => !selves.some(({ id }) => id === other));
  }
  return people;
}
