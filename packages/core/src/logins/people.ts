import { type Database, type Transaction, userIdentities, users } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';

/** A person as one of their providers vouches for them: `id` is ours, the rest is what that provider says. */
export interface Person {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  subject: string;
}

/**
 * The person a provider vouches for, known by provider and subject; name, e-mail and groups are as it says now. Somebody
 * new gets `person.id`.
 */
export async function upsertUser(db: Database | Transaction, person: Person): Promise<Person> {
  const known = await refreshIdentity(db, person);
  if (known) return known;
  const { id, provider, subject, email, name, groups } = person;
  const now = sql`app_now()`;
  const [user] = await db
    .insert(users)
    .values({ id, provider, subject, email, name, groups })
    .onConflictDoUpdate({ target: [users.provider, users.subject], set: { email, name, groups, updatedAt: now } })
    .returning({ id: users.id });
  if (!user) throw new Error('A person could not be stored');
  const [identity] = await db
    .insert(userIdentities)
    .values({ provider, subject, userId: user.id, email, name, groups })
    .onConflictDoUpdate({
      target: [userIdentities.provider, userIdentities.subject],
      set: { email, name, groups, updatedAt: now },
    })
    .returning();
  if (!identity) throw new Error('An identity could not be stored');
  return toPerson(identity);
}

/** Takes over what a provider says now about an identity that is known; undefined for one that is not. */
export async function refreshIdentity(
  db: Database | Transaction,
  proved: Omit<Person, 'id'>,
): Promise<Person | undefined> {
  const { provider, subject, email, name, groups } = proved;
  const told = { email, name, groups, updatedAt: sql`app_now()` };
  const [identity] = await db
    .update(userIdentities)
    .set(told)
    .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)))
    .returning();
  if (!identity) return undefined;
  // The provider that somebody came from first is the one whose word stands where no login is at hand.
  await db
    .update(users)
    .set(told)
    .where(and(eq(users.id, identity.userId), eq(users.provider, provider), eq(users.subject, subject)));
  return toPerson(identity);
}

/** A person by one of their identities; undefined when it is not theirs (any more). */
export async function readPerson(
  db: Database | Transaction,
  by: { userId: string; provider: string; subject: string },
): Promise<Person | undefined> {
  const [identity] = await db
    .select()
    .from(userIdentities)
    .where(
      and(
        eq(userIdentities.provider, by.provider),
        eq(userIdentities.subject, by.subject),
        eq(userIdentities.userId, by.userId),
      ),
    );
  return identity && toPerson(identity);
}

/** Everybody that a person is to the providers they are known at, the identity that they act by first. */
export async function listIdentities(db: Database | Transaction, person: Person): Promise<Person[]> {
  const identities = await db.select().from(userIdentities).where(eq(userIdentities.userId, person.id));
  return [person, ...identities.map(toPerson)];
}

export function toPerson(identity: typeof userIdentities.$inferSelect): Person {
  const { userId: id, email, name, groups, provider, subject } = identity;
  return { id, email, name, groups, provider, subject };
}
