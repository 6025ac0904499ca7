import { foldAddress } from '@belay/contract/address';
import { type Database, type Transaction, userIdentities, users } from '@belay/db';
import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { Person, Store } from '../context.js';
import { passingGroups, unmetCondition } from './admission.js';
import type { ProvedIdentity } from './proved.js';

/**
 * Stores the person that a provider vouches for, by provider and subject, with the name, e-mail address and groups
 * that it returns now. A new person gets `person.id`. Groups are stored, and returned, under the provider's names:
 * `asPerson` returns the accepted ones.
 */
export async function upsertUser(
  db: Database | Transaction,
  person: ProvedIdentity & Pick<Person, 'id'>,
): Promise<Person> {
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
  const told = toldBy(person);
  const [identity] = await db
    .insert(userIdentities)
    .values({ provider, subject, userId: user.id, ...told })
    .onConflictDoUpdate({
      target: [userIdentities.provider, userIdentities.subject],
      set: { ...told, updatedAt: now, toldAt: now },
    })
    .returning();
  if (!identity) throw new Error('An identity could not be stored');
  return toPerson(identity);
}

/** Returns the columns of an identity that its provider describes. */
export function toldBy(proved: ProvedIdentity) {
  const { email, name, groups, organizations = groups, issuer = null } = proved;
  return { email, emailFolded: foldAddress(email) ?? null, name, groups, organizations, issuer };
}

/** Stores the provider's current data of a known identity; returns undefined for an unknown one. */
export async function refreshIdentity(db: Database | Transaction, proved: ProvedIdentity): Promise<Person | undefined> {
  const { provider, subject, email, name, groups } = proved;
  const updatedAt = sql`app_now()`;
  const [identity] = await db
    .update(userIdentities)
    .set({ ...toldBy(proved), updatedAt, toldAt: sql`app_now()` })
    .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)))
    .returning();
  if (!identity) return undefined;
  // Pages and lists show a person with the data of their first provider.
  await db
    .update(users)
    .set({ email, name, groups, updatedAt })
    .where(and(eq(users.id, identity.userId), eq(users.provider, provider), eq(users.subject, subject)));
  return toPerson(identity);
}

/**
 * Returns a person by one of their identities, with the accepted groups of its provider. Undefined when the identity is no longer theirs,
 * when the configuration no longer lets it sign in, or when a directory says that the person has left.
 */
export async function readPerson(
  ctx: Store,
  db: Database | Transaction,
  by: { userId: string; provider: string; subject: string },
): Promise<Person | undefined> {
  const [found] = await db
    .select({ identity: userIdentities })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(
      and(
        eq(userIdentities.provider, by.provider),
        eq(userIdentities.subject, by.subject),
        eq(userIdentities.userId, by.userId),
        isNull(users.deprovisionedAt),
      ),
    );
  const identity = found?.identity;
  if (!identity || unmetCondition(ctx.catalog.current(), identity) !== undefined) return undefined;
  return asPerson(ctx, toPerson(identity));
}

/** Returns the same person with the accepted groups of their provider, by the configuration in force. */
export function asPerson(ctx: Store, told: Person): Person {
  return { ...told, groups: passingGroups(ctx.catalog.current(), told) };
}

/**
 * Matches identities that their provider has described recently: within the time that the longest login lasts, and since the
 * person was last stopped. For actions of people without a login.
 */
export function wasToldLately(ctx: Store): SQL {
  const oldest = `${ctx.catalog.current().loginEnd.device} milliseconds`;
  return sql`${userIdentities.toldAt} > app_now() - ${oldest}::interval`;
}

/** Locks users, in one order, as sign-ins, SCIM requests and `stopUser` do, so that the later of two sees what the earlier wrote. */
export async function lockUsers(tx: Transaction, ids: readonly string[]): Promise<void> {
  const those = inArray(users.id, [...ids]);
  await tx.select({ id: users.id }).from(users).where(those).orderBy(asc(users.id)).for('no key update');
}

/** Returns the person of an identity, with the groups that its provider returns. */
export function toPerson(identity: typeof userIdentities.$inferSelect): Person {
  const { userId: id, email, name, groups, provider, subject } = identity;
  return { id, email, name, groups, provider, subject };
}
