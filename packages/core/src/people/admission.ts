import { isInDomains } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import { userIdentities } from '@belay/db';
import type { Identities, Login, Person as Sought } from '@belay/providers';
import { asc, eq } from 'drizzle-orm';
import { operatorProvider } from '../configuration/authenticators.js';
import type { Catalog } from '../configuration/catalog.js';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { ProvedIdentity } from './proved.js';

/** The data of an identity that the configuration judges: always the provider's own data, never data that was derived from it. */
export type Told = Pick<ProvedIdentity, 'provider' | 'email' | 'groups' | 'organizations'>;

/**
 * Returns the accepted groups of a person, under their names in Belay, by the configuration in force (`groups` of the provider). The
 * provider's own names are stored; all code that reads groups uses this function, so a change of the configuration counts immediately for
 * people who are signed in.
 */
export function passingGroups(catalog: Catalog, { provider: id, groups }: Pick<Told, 'provider' | 'groups'>): string[] {
  if (id === operatorProvider) return [...groups];
  const rule = catalog.authenticators.includes(id) ? catalog.providers.get(id)?.definition.groups : { allow: [] };
  // The only sign-in provider cannot be confused with another.
  if (rule === 'all' || (rule === undefined && catalog.authenticators.length === 1)) return [...new Set(groups)];
  if (rule === undefined) return [];
  if ('allow' in rule) return [...new Set(groups.filter((group) => rule.allow.includes(group)))];
  const { map } = rule;
  return [...new Set(groups.flatMap((group) => (Object.hasOwn(map, group) ? (map[group] ?? []) : [])))];
}

/**
 * Returns the names that groups can have at their providers: the inverse of `passingGroups`, for all providers together. A person with one
 * of these names does not always have the group; a person without any of them never has it.
 */
export function namesOfGroups({ authenticators, providers }: Catalog, groups: readonly string[]): string[] {
  const mapped = authenticators.flatMap((id) => {
    const rule = providers.get(id)?.definition.groups;
    if (rule === undefined || rule === 'all' || 'allow' in rule) return [];
    return Object.entries(rule.map).flatMap(([name, here]) => (groups.includes(here) ? [name] : []));
  });
  return [...new Set([...groups, ...mapped])];
}

/** Returns the first condition of the provider's `sign_in` that an identity does not meet; undefined when it meets all of them. */
export function unmetCondition(catalog: Catalog, told: Told): 'email_domains' | 'organizations' | 'groups' | undefined {
  const wanted = catalog.providers.get(told.provider)?.definition.sign_in;
  if (wanted === undefined || told.provider === operatorProvider) return undefined;
  const { email_domains: domains, organizations, groups } = wanted;
  const meets = (list: readonly string[] | undefined, has: readonly string[]) =>
    list === undefined || list.some((one) => has.includes(one));
  if (domains && !isInDomains(told.email, domains)) return 'email_domains';
  if (!meets(organizations, told.organizations ?? told.groups)) return 'organizations';
  return meets(groups, told.groups) ? undefined : 'groups';
}

const unmet = {
  email_domains: 'the domain of your e-mail address is not allowed to sign in',
  organizations: 'you are not a member of an organization that is allowed to sign in',
  groups: 'you are not in a group that is allowed to sign in',
};

/**
 * Rejects an identity that its provider proved but `sign_in` does not admit, and records the rejection in the ledger. Throws `forbidden`
 * with the condition that is not met. Call it outside of a transaction, so that the record stays.
 */
export async function requireAdmitted(ctx: Store, proved: ProvedIdentity): Promise<void> {
  const catalog = ctx.catalog.current();
  const condition = unmetCondition(catalog, proved);
  if (condition === undefined) return;
  const { provider, subject, email } = proved;
  await appendLedger(ctx.db, [
    {
      type: 'login.refused',
      level: 'warning',
      message: `${email} was not signed in with ${provider}: sign_in.${condition}`,
      actor: { kind: 'system', name: 'logins' },
      provider,
      data: { email, subject, condition: `sign_in.${condition}` },
    },
  ]);
  const name = catalog.providers.get(provider)?.definition.name ?? provider;
  throw new AccessError('forbidden', `${name} confirmed your identity, but ${unmet[condition]}`);
}

/** Returns whether a provider is trusted for an address: for its domain, or as the only sign-in provider. */
export function isTrusted(ctx: Store, id: string, email: string): boolean {
  const { authenticators, providers } = ctx.catalog.current();
  if (!authenticators.includes(id)) return false;
  if (authenticators.length === 1) return true;
  return isInDomains(email, providers.get(id)?.definition.trusted_email_domains ?? []);
}

/** Returns the person to look up at a provider: with the person's linked sign-ins if the provider uses them. */
export async function soughtBy(
  ctx: Store,
  identities: Pick<Identities, 'byLogin'>,
  { id, email, name, subject }: Pick<Sought, 'email' | 'name' | 'subject'> & { id: string },
): Promise<Sought> {
  const sought = { email, name, subject };
  return identities.byLogin ? { ...sought, logins: await readLinked(ctx, id) } : sought;
}

/** Returns the sign-ins that are linked to a person and that the configuration lets them use. */
async function readLinked(ctx: Store, userId: string): Promise<Login[]> {
  const catalog = ctx.catalog.current();
  const linked = await ctx.db
    .select()
    .from(userIdentities)
    .where(eq(userIdentities.userId, userId))
    .orderBy(asc(userIdentities.provider), asc(userIdentities.subject));
  return linked
    .filter((identity) => catalog.authenticators.includes(identity.provider))
    .filter((identity) => unmetCondition(catalog, identity) === undefined)
    .map(({ provider, subject }) => ({ provider, subject }));
}
