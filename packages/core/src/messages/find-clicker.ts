import { foldAddress, isInDomains } from '@belay/contract/address';
import { userIdentities, users } from '@belay/db';
import type { HookActor } from '@belay/providers';
import { and, desc, eq, isNull } from 'drizzle-orm';
import type { Store, UserActor } from '../context.js';
import { isTrusted, unmetCondition } from '../people/admission.js';
import { asPerson, toPerson, wasToldLately } from '../people/people.js';

type Identity = typeof userIdentities.$inferSelect;

/**
 * Returns the person who clicked in a message of a provider, or null: the owner of the identity that is linked there,
 * otherwise the only person whom a trusted sign-in provider knows by the e-mail address that the provider of the
 * message verified, in a domain for which it is trusted too. The person acts under the identity that its provider
 * described last. The data of this identity, groups included, counts for as long as the longest login lasts
 * (decision 0113).
 */
export async function findClicker(ctx: Store, provider: string, clicker: HookActor): Promise<UserActor | null> {
  const userId = (await findLinked(ctx, provider, clicker)) ?? (await findByAddress(ctx, provider, clicker));
  if (userId === null) return null;
  const catalog = ctx.catalog.current();
  const own = await ctx.db
    .select({ identity: userIdentities })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(and(eq(userIdentities.userId, userId), isNull(users.deprovisionedAt), wasToldLately(ctx)))
    .orderBy(desc(userIdentities.toldAt));
  const identity = own
    .map((one) => one.identity)
    .find((one) => maySignIn(ctx, one) && unmetCondition(catalog, one) === undefined);
  return identity ? { kind: 'user', ...asPerson(ctx, toPerson(identity)), loginId: '' } : null;
}

function maySignIn(ctx: Store, { provider }: Identity): boolean {
  return ctx.catalog.current().authenticators.includes(provider);
}

async function findLinked(ctx: Store, provider: string, { subject }: HookActor): Promise<string | null> {
  const [linked] = await ctx.db
    .select({ userId: userIdentities.userId })
    .from(userIdentities)
    .where(and(eq(userIdentities.provider, provider), eq(userIdentities.subject, subject)));
  return linked?.userId ?? null;
}

async function findByAddress(ctx: Store, provider: string, { email }: HookActor): Promise<string | null> {
  const folded = email === undefined ? undefined : foldAddress(email);
  const domains = ctx.catalog.current().providers.get(provider)?.definition.trusted_email_domains ?? [];
  if (folded === undefined || !isInDomains(folded, domains)) return null;
  const same = await ctx.db.select().from(userIdentities).where(eq(userIdentities.emailFolded, folded));
  const owners = new Set(same.filter((one) => isTrusted(ctx, one.provider, folded)).map(({ userId }) => userId));
  const [owner] = owners;
  // When two people have the address, neither is chosen.
  return owner !== undefined && owners.size === 1 ? owner : null;
}
