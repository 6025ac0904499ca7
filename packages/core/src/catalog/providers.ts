import type { Capability, ProviderClient } from '@belay/providers';
import { publicMessage } from '../access/authorizer.js';
import { can } from '../can.js';
import type { ActorContext, Context } from '../context.js';
import { AccessError, notFound } from '../errors.js';
import { type CompiledProvider, versionText } from './compile.js';

export interface ProviderDetails {
  id: string;
  name: string;
  description: string;
  provider: string;
  enabled: boolean;
  capabilities: Capability[];
}

/** The enabled providers with a ready client that the caller may see, with any of the capabilities named (interface, GET /providers). */
export function listProviders(ctx: ActorContext, input: { capability?: Capability[] | undefined }) {
  const catalog = ctx.catalog.current();
  const wanted = input.capability ?? [];
  const providers = [...catalog.providers.values()]
    .filter((provider) => ctx.catalog.client(provider.id) !== undefined && can(ctx.actor, 'view', { provider }))
    .filter((provider) => wanted.length === 0 || wanted.some((capability) => provider.capabilities.has(capability)))
    .map((provider) => ({ _id: provider.id, _source: describeProvider(provider) }));
  return { version: versionText(catalog.version), providers };
}

/** The providers that anybody may sign in with, by what a sign-in page shows of them. Nobody is signed in yet, so no audience is asked. */
export function listAuthenticators(ctx: Context): { id: string; name: string; description: string }[] {
  return [...ctx.catalog.current().providers.values()]
    .filter((provider) => provider.enabled && provider.capabilities.has('authenticator'))
    .filter((provider) => ctx.catalog.client(provider.id)?.authenticator !== undefined)
    .map((provider) => ({
      id: provider.id,
      name: provider.definition.name ?? provider.id,
      description: provider.definition.description,
    }));
}

/** One provider; `not_found` for one that the caller may not see. */
export function getProvider(ctx: ActorContext, input: { provider: string }): ProviderDetails {
  return describeProvider(findProvider(ctx, input.provider));
}

/** A provider's own roles, as it tells them now, whose name or description contains `q`. */
export async function listProviderRoles(ctx: ActorContext, input: { provider: string; q?: string | undefined }) {
  const roles = await ask(ctx, input.provider, (client, signal) => client.authorizer?.roles(signal));
  return { ...page(ctx, input.provider), roles: search(roles, input.q, (role) => [role.name, role.description]) };
}

/** A provider's own permissions. */
export async function listProviderPermissions(ctx: ActorContext, input: { provider: string; q?: string | undefined }) {
  const permissions = await ask(ctx, input.provider, (client, signal) => client.authorizer?.permissions(signal));
  return {
    ...page(ctx, input.provider),
    permissions: search(permissions, input.q, (permission) => [permission.name, permission.description]),
  };
}

/** A provider's identities. */
export async function listProviderIdentities(ctx: ActorContext, input: { provider: string; q?: string | undefined }) {
  const identities = await ask(ctx, input.provider, (client, signal) => client.identities?.list(signal));
  return {
    ...page(ctx, input.provider),
    identities: search(identities, input.q, (identity) => [identity.name, identity.email, identity.id]),
  };
}

function describeProvider(provider: CompiledProvider): ProviderDetails {
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

/** A provider that the caller may see. Throws `not_found` for any other. */
export function findProvider(ctx: ActorContext, id: string): CompiledProvider {
  const provider = ctx.catalog.current().providers.get(id);
  if (!provider || !can(ctx.actor, 'view', { provider })) throw notFound(`Provider ${id}`);
  return provider;
}

function page(ctx: ActorContext, provider: string) {
  return { version: versionText(ctx.catalog.current().version), provider };
}

async function ask<T>(
  ctx: ActorContext,
  id: string,
  question: (client: ProviderClient, signal: AbortSignal) => Promise<T[]> | undefined,
): Promise<T[]> {
  findProvider(ctx, id);
  const client = ctx.catalog.client(id);
  const answer = client && question(client, AbortSignal.timeout(ctx.timing.callTimeout));
  if (!answer) throw new AccessError('not_configured', `The provider "${id}" has no such list`);
  return answer.catch((cause: unknown) => {
    throw new AccessError('unavailable', `The provider "${id}" cannot be asked: ${publicMessage(cause)}`, { cause });
  });
}

/** What contains the words of `q`; what begins with it comes first. */
function search<T>(items: T[], q: string | undefined, texts: (item: T) => string[]): T[] {
  const words = (q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (item: T) => (texts(item).some((text) => text.toLowerCase().startsWith(words[0] ?? '')) ? 0 : 1);
  return items
    .filter((item) => {
      const all = texts(item).join('\n').toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort((a, b) => rank(a) - rank(b));
}
