import { foldAddress, isSameAddress } from '@belay/contract/address';
import { type Transaction, userIdentities, users } from '@belay/db';
import type { Authenticated } from '@belay/providers';
import { and, eq, sql } from 'drizzle-orm';
import { operatorProvider } from '../configuration/authenticators.js';
import type { Person, Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { isTrusted } from './admission.js';
import { findTrustedOwner, identitiesWith } from './certain.js';
import { refreshIdentity, toldBy, toPerson, upsertUser } from './people.js';
import type { ProvedIdentity } from './proved.js';
import { asProvisioned, requireStaying } from './provisioned.js';

/** Returns the identity that a provider's response proves, as it is stored. */
export function identityOf(ctx: Store, provider: string, answer: Authenticated): ProvedIdentity {
  const { subject, email, groups, organizations } = answer;
  const issuer = ctx.catalog.client(provider)?.authenticator?.issuer;
  return { provider, subject, email, name: answer.name || email, groups, organizations, issuer };
}

/**
 * Returns the person of an identity (docs/interface.md, section 16, rule 15): its known person; otherwise `signedIn`,
 * who started the sign-in here and has no identity at that provider yet; otherwise the one person for whom another
 * trusted provider vouches with the same address, or for whom an operator created a token under it (`findTrusted`);
 * otherwise a new person. The e-mail address must be verified. Throws `forbidden` when a directory says that the person
 * has left.
 */
export async function claimIdentity(
  ctx: Store,
  tx: Transaction,
  proved: ProvedIdentity,
  signedIn: string | null,
): Promise<Person> {
  const owner = await findOwner(ctx, tx, proved, signedIn);
  return owner ?? requireStaying(ctx, tx, await upsertUser(tx, { ...proved, id: ctx.newId() }));
}

/**
 * Claims an identity as `claimIdentity` does, but creates no person: returns undefined when the identity belongs to no known person.
 */
export async function findOwner(
  ctx: Store,
  tx: Transaction,
  signedInAs: ProvedIdentity,
  signedIn: string | null,
): Promise<Person | undefined> {
  const proved = await asProvisioned(ctx, tx, signedInAs);
  const known = (await refreshIdentity(tx, proved)) ?? (await takeTurns(tx, proved));
  const linked = known ?? (signedIn === null ? undefined : await link(tx, proved, signedIn, 'signed in'));
  if (linked) return requireStaying(ctx, tx, linked);
  const trusted = await findTrusted(ctx, tx, proved);
  const found = trusted && (await link(tx, proved, trusted.userId, trusted.because));
  return found && requireStaying(ctx, tx, found);
}

/**
 * Makes first sign-ins take turns until they are committed, so that two with one address at the same moment see each
 * other: otherwise they would create two people. Known identities do not wait. Returns the person who became known
 * meanwhile.
 */
async function takeTurns(tx: Transaction, proved: ProvedIdentity): Promise<Person | undefined> {
  await tx.execute(sql`lock table ${userIdentities} in share update exclusive mode`);
  return refreshIdentity(tx, proved);
}

/**
 * Links an identity to a person. Returns undefined when the person already has an identity at that provider, because
 * the new one then belongs to another person.
 */
async function link(
  tx: Transaction,
  proved: ProvedIdentity,
  userId: string,
  because: string,
): Promise<Person | undefined> {
  // Two links for one person take turns, so that the second sees the first.
  const [user] = await tx.select().from(users).where(eq(users.id, userId)).for('update');
  const [other] = await tx
    .select({ subject: userIdentities.subject })
    .from(userIdentities)
    .where(and(eq(userIdentities.userId, userId), eq(userIdentities.provider, proved.provider)))
    .limit(1);
  if (!user || other) return undefined;
  const [made] = await tx
    .insert(userIdentities)
    .values({ provider: proved.provider, subject: proved.subject, userId, ...toldBy(proved) })
    .onConflictDoNothing()
    .returning();
  if (!made) return refreshIdentity(tx, proved);
  const person = toPerson(made);
  if (user.provider === operatorProvider && isSameAddress(user.email, proved.email)) await handOver(tx, userId, proved);
  await appendLedger(tx, [
    {
      type: 'identity.linked',
      level: 'warning',
      message: `${proved.email} at "${proved.provider}" is linked to ${user.email} (${because})`,
      actor: { kind: 'user', ...person, loginId: '' },
      userId,
      provider: proved.provider,
      data: { because },
    },
  ]);
  return person;
}

/** Replaces the data that an operator gave for a person by the provider's. */
async function handOver(tx: Transaction, userId: string, proved: ProvedIdentity): Promise<void> {
  const { provider, subject, email, name, groups } = proved;
  await tx
    .update(users)
    .set({ provider, subject, email, name, groups, updatedAt: sql`app_now()` })
    .where(eq(users.id, userId));
}

/**
 * Returns the one person that a provider which is trusted for the domain knows by the same address; otherwise the person for whom an
 * operator created a token under this address. Both providers must be trusted. Otherwise a person could claim an address with another
 * provider first, and would then be linked with its owner, or get what the operator meant for the owner.
 */
async function findTrusted(
  ctx: Store,
  tx: Transaction,
  proved: ProvedIdentity,
): Promise<{ userId: string; because: string } | undefined> {
  const email = foldAddress(proved.email);
  if (email === undefined || !isTrusted(ctx, proved.provider, email)) return undefined;
  const owner = await findTrustedOwner(ctx, tx, email);
  if (owner !== undefined) return owner === 'several' ? undefined : { userId: owner, because: 'trusted e-mail' };
  const awaited = (await identitiesWith(tx, email)).find(({ provider }) => provider === operatorProvider);
  return awaited && { userId: awaited.userId, because: 'an operator created a token for this address' };
}
