import { type Transaction, userIdentities, users } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { type Person, refreshIdentity, toPerson, upsertUser } from './people.js';

/** What a provider proved, before it is known whose it is. */
export type ProvedIdentity = Omit<Person, 'id'>;

/**
 * Whose identity this is (design §14.15): its person when it is known; else `signedIn`, who began the sign-in here and
 * has no identity at that provider yet; else the one person for whom another trusted provider vouches with the same
 * address; else somebody new. The e-mail must be a verified one.
 */
export async function claimIdentity(
  ctx: Context,
  tx: Transaction,
  proved: ProvedIdentity,
  signedIn: string | null,
): Promise<Person> {
  return (await findOwner(ctx, tx, proved, signedIn)) ?? upsertUser(tx, { ...proved, id: ctx.newId() });
}

/** As `claimIdentity`, but makes nobody new: undefined when the identity is nobody's here. */
export async function findOwner(
  ctx: Context,
  tx: Transaction,
  proved: ProvedIdentity,
  signedIn: string | null,
): Promise<Person | undefined> {
  const known = await refreshIdentity(tx, proved);
  if (known) return known;
  const linked = signedIn === null ? undefined : await link(tx, proved, signedIn, 'signed in');
  if (linked) return linked;
  const trusted = await findTrusted(ctx, tx, proved);
  return trusted === undefined ? undefined : link(tx, proved, trusted, 'trusted e-mail');
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
    .values({ ...proved, userId })
    .onConflictDoNothing()
    .returning();
  if (!made) return refreshIdentity(tx, proved);
  const person = toPerson(made);
  await appendLedger(tx, [
    {
      type: 'identity.linked',
      level: 'warning',
      message: `${proved.email} at "${proved.provider}" is ${user.email} from now on (${because})`,
      actor: { kind: 'user', ...person, loginId: '' },
      userId,
      provider: proved.provider,
      data: { because },
    },
  ]);
  return person;
}

/**
 * The one person whom a provider that is trusted for the domain knows by the same address. Both sides have to be trusted:
 * else whoever gets an unknown provider to assert an address first would be waiting for its owner here.
 */
async function findTrusted(ctx: Context, tx: Transaction, proved: ProvedIdentity): Promise<string | undefined> {
  const email = proved.email.toLowerCase();
  if (!isTrusted(ctx, proved.provider, email)) return undefined;
  const same = await tx
    .select({ userId: userIdentities.userId, provider: userIdentities.provider })
    .from(userIdentities)
    .where(eq(sql`lower(${userIdentities.email})`, email));
  const owners = new Set(same.filter(({ provider }) => isTrusted(ctx, provider, email)).map(({ userId }) => userId));
  const [owner] = owners;
  // Two people with one address: no guess.
  return owners.size === 1 ? owner : undefined;
}

function isTrusted(ctx: Context, id: string, email: string): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  const provider = ctx.catalog.current().providers.get(id);
  if (!provider?.enabled || !provider.capabilities.has('authenticator')) return false;
  return provider.definition.trusted_email_domains?.some((trusted) => trusted.toLowerCase() === domain) ?? false;
}
