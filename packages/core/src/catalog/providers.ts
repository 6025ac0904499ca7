import { isNamed } from '@belay/contract/audience';
import { AccessError, notFound } from '@belay/contract/errors';
import type { PageOf } from '@belay/contract/paging';
import { pageOf } from '@belay/contract/paging';
import type { Provider } from '@belay/contract/providers';
import { type Capability, mostListed, type ProviderClient } from '@belay/providers';
import { can } from '../can.js';
import type { CompiledProvider } from '../configuration/catalog.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore, Store } from '../context.js';
import { countLookup } from '../count-lookup.js';
import { rolesConcerning } from './audiences.js';
import { publicMessage } from './authorizer.js';
import { type SearchMemory, searchList } from './search.js';

/**
 * Returns the enabled providers with a ready client that the caller may see, with any of the named capabilities (GET
 * /providers).
 */
export function listProviders(ctx: ActorStore, input: { capability?: Capability[] | undefined }) {
  const catalog = ctx.catalog.current();
  const wanted = input.capability ?? [];
  const providers = [...catalog.providers.values()]
    .filter((provider) => ctx.catalog.client(provider.id) !== undefined && can(ctx.actor, 'view', { provider }))
    .filter((provider) => wanted.length === 0 || wanted.some((capability) => provider.capabilities.has(capability)))
    .map((provider) => ({ _id: provider.id, _source: describeProvider(provider) }));
  return { version: versionText(catalog.version), providers };
}

/**
 * Returns the sign-in providers, with what a sign-in page shows of them. The visitor is not signed in, so no audience
 * is checked.
 */
export function listAuthenticators(ctx: Store): { id: string; name: string; description: string }[] {
  return [...ctx.catalog.current().providers.values()]
    .filter((provider) => provider.enabled && provider.capabilities.has('authenticator'))
    .filter((provider) => ctx.catalog.client(provider.id)?.authenticator !== undefined)
    .map((provider) => ({
      id: provider.id,
      name: provider.definition.name ?? provider.id,
      description: provider.definition.description,
    }));
}

/** Returns one provider; throws `not_found` for one that the caller may not see. */
export function getProvider(ctx: ActorStore, input: { provider: string }): Provider {
  return describeProvider(findProvider(ctx, input.provider));
}

interface ProviderSearch extends PageOf {
  provider: string;
  /** Words to search for. */
  q?: string | undefined;
}

/**
 * Returns the roles that a provider defines, read now; with `q` those that match, best first. Throws `not_found`,
 * `not_configured` for a provider without such a list, and `unavailable` when the provider does not return it.
 */
export async function listProviderRoles(ctx: ActorStore, input: ProviderSearch) {
  const roles = await ask(ctx, input.provider, (client, signal) => client.authorizer?.roles(signal));
  const { page, next } = await pick(ctx, 'roles', roles, input, (role) => [role.name, role.description, role.arn]);
  return { ...heading(ctx, input.provider), roles: page, next };
}

/** Returns the permissions that a provider defines, searched and paged in the same way. */
export async function listProviderPermissions(ctx: ActorStore, input: ProviderSearch) {
  const permissions = await ask(ctx, input.provider, (client, signal) => client.authorizer?.permissions(signal));
  const { page, next } = await pick(ctx, 'permissions', permissions, input, ({ name, description }) => [
    name,
    description,
  ]);
  return { ...heading(ctx, input.provider), permissions: page, next };
}

/**
 * Returns a provider's identities, searched and paged in the same way: names and addresses of people, so only for
 * callers who may request access there. Throws `forbidden` for others who see the provider.
 */
export async function listProviderIdentities(ctx: ActorStore, input: ProviderSearch) {
  const { id } = findProvider(ctx, input.provider);
  if (!mayRequestAt(ctx, id)) {
    throw new AccessError(
      'forbidden',
      `You cannot list the identities of "${id}": only people who may request access there can`,
    );
  }
  const { q } = input;
  const listed = await ask(ctx, input.provider, (client, signal) => client.identities?.list(signal));
  // A list of `mostListed` identities may be incomplete, so the provider searches.
  const identities =
    q !== undefined && listed.length >= mostListed
      ? await ask(ctx, id, (client, signal) => client.identities?.search(q, mostListed, signal))
      : listed;
  const { page, next } = await pick(ctx, 'identities', identities, input, ({ name, email, id }) => [name, email, id]);
  // The other addresses and sign-ins of an account are for decisions, and lists do not show them.
  const shown = page.map(({ id, name, email }) => ({ id, name, email }));
  return { ...heading(ctx, input.provider), identities: shown, next };
}

/** Returns whether the caller may request a role at this provider, or permissions and groups directly. */
function mayRequestAt(ctx: ActorStore, id: string): boolean {
  const catalog = ctx.catalog.current();
  const bounds = catalog.dynamic.get(id);
  if (bounds && ctx.actor.kind === 'user' && isNamed(ctx.actor, bounds.requesters)) return true;
  return rolesConcerning(ctx.actor, catalog).some(
    (role) => role.providers.includes(id) && can(ctx.actor, 'request', { role }),
  );
}

function describeProvider(provider: CompiledProvider): Provider {
  const { definition, id, enabled, capabilities } = provider;
  return {
    id,
    name: definition.name ?? id,
    description: definition.description,
    provider: definition.provider,
    enabled,
    capabilities: [...capabilities],
  };
}

/** Returns a provider that the caller may see. Throws `not_found` for any other. */
export function findProvider(ctx: ActorStore, id: string): CompiledProvider {
  const provider = ctx.catalog.current().providers.get(id);
  if (!provider || !can(ctx.actor, 'view', { provider })) throw notFound(`Provider ${id}`);
  return provider;
}

function heading(ctx: ActorStore, provider: string) {
  return { version: versionText(ctx.catalog.current().version), provider };
}

/** Throws `too_many_requests` for a person who has read too many lists of providers in the last hour. */
async function requireLists(ctx: ActorStore): Promise<void> {
  const { listsPerHour } = ctx.catalog.current().limits;
  if (ctx.actor.kind !== 'user' || (await countLookup(ctx, ctx.actor, 'list', listsPerHour))) return;
  throw new AccessError(
    'too_many_requests',
    `You read ${listsPerHour} lists of providers in the last hour, which is the limit for one person; wait a few minutes`,
    { retryAfter: 60 },
  );
}

async function ask<T>(
  ctx: ActorStore,
  id: string,
  question: (client: ProviderClient, signal: AbortSignal) => Promise<T[]> | undefined,
): Promise<T[]> {
  findProvider(ctx, id);
  await requireLists(ctx);
  const client = ctx.catalog.client(id);
  const answer = client && question(client, AbortSignal.timeout(ctx.timing.callTimeout));
  if (!answer) throw new AccessError('not_configured', `The provider "${id}" does not support this list`);
  return answer.catch((cause: unknown) => {
    throw new AccessError('unavailable', `The provider "${id}" did not return the list: ${publicMessage(cause)}`, {
      cause,
    });
  });
}

/** One cache per client, which is dropped with the client. */
const memories = new WeakMap<ProviderClient, Map<string, SearchMemory>>();

async function pick<T>(
  ctx: ActorStore,
  list: string,
  items: readonly T[],
  { provider, q, ...asked }: ProviderSearch,
  textsOf: (item: T) => readonly string[],
) {
  const client = ctx.catalog.client(provider);
  const memory = (client && memories.get(client)) ?? new Map<string, SearchMemory>();
  if (client) memories.set(client, memory);
  const found = await searchList(items, textsOf, q, memory, list);
  return pageOf(found, asked, [provider, list, q ?? '']);
}
