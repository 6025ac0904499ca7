import { isInDomains } from '@belay/contract/address';
import { userIdentities, users } from '@belay/db';
import type { HookActor } from '@belay/providers';
import { and, desc, eq, isNull } from 'drizzle-orm';
import type { Store, UserActor } from '../context.js';
import { unmetCondition } from '../people/admission.js';
import { attachChat, findTrustedOwner } from '../people/certain.js';
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

/**
 * Returns the person of the address that the chat verified. The user of the chat stays attached to them: if the same user acts for
 * another person later, under another address, the two may be one person.
 */
async function findByAddress(ctx: Store, provider: string, { email, subject }: HookActor): Promise<string | null> {
  const domains = ctx.catalog.current().providers.get(provider)?.definition.trusted_email_domains ?? [];
  if (email === undefined || !isInDomains(email, domains)) return null;
  const owner = await findTrustedOwner(ctx, ctx.db, email);
  if (owner === undefined || owner === 'several') return null;
  await attachChat(ctx.db, owner, { provider, subject });
  return owner;
}
