import { foldAddress, isInDomains, isSameAddress } from '@belay/contract/address';
import { type Transaction, userIdentities, users } from '@belay/db';
import type { Authenticated } from '@belay/providers';
import { and, eq, sql } from 'drizzle-orm';
import { operatorProvider } from '../configuration/authenticators.js';
import type { Context, Person } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { asPerson, refreshIdentity, toldBy, toPerson, upsertUser } from './people.js';
import type { ProvedIdentity } from './person.js';

/** What a provider's answer proves, as it is stored. */
export function identityOf(ctx: Context, provider: string, answer: Authenticated): ProvedIdentity {
  const { subject, email, groups, organizations } = answer;
  const issuer = ctx.catalog.client(provider)?.authenticator?.issuer;
  return { provider, subject, email, name: answer.name || email, groups, organizations, issuer };
}

/**
 * Whose identity this is (docs/interface.md, section 16, rule 15): its person when it is known; else `signedIn`, who began the sign-in here and
 * has no identity at that provider yet; else the one person for whom another trusted provider vouches with the same
 * address; else somebody new. The e-mail must be a verified one.
 */
export async function claimIdentity(
  ctx: Context,
  tx: Transaction,
  proved: ProvedIdentity,
  signedIn: string | null,
): Promise<Person> {
  const owner = await findOwner(ctx, tx, proved, signedIn);
  return owner ?? asPerson(ctx, await upsertUser(tx, { ...proved, id: ctx.newId() }));
}

/** As `claimIdentity`, but makes nobody new: undefined when the identity is nobody's here. */
export async function findOwner(
  ctx: Context,
  tx: Transaction,
  proved: ProvedIdentity,
  signedIn: string | null,
): Promise<Person | undefined> {
  const known = (await refreshIdentity(tx, proved)) ?? (await takeTurns(tx, proved));
  const linked = known ?? (signedIn === null ? undefined : await link(tx, proved, signedIn, 'signed in'));
  if (linked) return asPerson(ctx, linked);
  const trusted = await findTrusted(ctx, tx, proved);
  const found = trusted && (await link(tx, proved, trusted.userId, trusted.because));
  return found && asPerson(ctx, found);
}

/**
 * First sign-ins take turns until they are committed, so that two with one address at the same moment see each other: else
 * the person would be two for ever. Nothing that is known already waits for it. Returns who came to be known meanwhile.
 */
async function takeTurns(tx: Transaction, proved: ProvedIdentity): Promise<Person | undefined> {
  await tx.execute(sql`lock table ${userIdentities} in share update exclusive mode`);
  return refreshIdentity(tx, proved);
}

/** Makes an identity a person's; undefined when they have one at that provider already: it is somebody else's, then. */
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

/** A person who was known only by an operator's word is from now on what the provider says. */
async function handOver(tx: Transaction, userId: string, proved: ProvedIdentity): Promise<void> {
  const { provider, subject, email, name, groups } = proved;
  await tx
    .update(users)
    .set({ provider, subject, email, name, groups, updatedAt: sql`app_now()` })
    .where(eq(users.id, userId));
}

/**
 * The one person whom a provider that is trusted for the domain knows by the same address; else the one that an operator
 * made a token for, under this address. Both sides have to be trusted: else a person who gets an unknown provider to assert an
 * address first would be waiting for its owner here, or would come into what the operator meant for the owner.
 */
async function findTrusted(
  ctx: Context,
  tx: Transaction,
  proved: ProvedIdentity,
): Promise<{ userId: string; because: string } | undefined> {
  const email = foldAddress(proved.email);
  if (email === undefined || !isTrusted(ctx, proved.provider, email)) return undefined;
  const same = await tx
    .select({ userId: userIdentities.userId, provider: userIdentities.provider })
    .from(userIdentities)
    .where(eq(userIdentities.emailFolded, email));
  const owners = new Set(same.filter(({ provider }) => isTrusted(ctx, provider, email)).map(({ userId }) => userId));
  const [owner] = owners;
  // Two people with one address: no guess.
  if (owner !== undefined) return owners.size === 1 ? { userId: owner, because: 'trusted e-mail' } : undefined;
  const awaited = same.find(({ provider }) => provider === operatorProvider);
  return awaited && { userId: awaited.userId, because: 'an operator created a token for this address' };
}

/** Whether a provider's word counts for an address: it is trusted for the domain, or there is no other to sign in with. */
export function isTrusted(ctx: Context, id: string, email: string): boolean {
  const { authenticators, providers } = ctx.catalog.current();
  if (!authenticators.includes(id)) return false;
  if (authenticators.length === 1) return true;
  return isInDomains(email, providers.get(id)?.definition.trusted_email_domains ?? []);
}
