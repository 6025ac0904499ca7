import { isInAudience, isNamed } from '@belay/contract/audience';
import { digestOf } from '@belay/contract/canonical';
import { parseDuration } from '@belay/contract/durations';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import {
  type Access,
  type Authorizer,
  type Expiry,
  type Identities,
  type Named,
  type Pin,
  type ProviderIdentity,
  Retryable,
} from '@belay/providers';
import { residualOf } from '../catalog/authorizer.js';
import type { Catalog, CompiledProvider, CompiledRole } from '../configuration/catalog.js';
import type { Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { soughtBy } from '../people/admission.js';
import { foldName, isAccountNamed, namesOfAccount } from '../people/names.js';
import { composeRole, refuseDenied } from './dynamic-role.js';
import type { ElevationInput } from './input.js';
import { accessEnded } from './owner.js';

/** One entitlement that a request would intend. */
export interface PlannedGrant {
  provider: string;
  identity: string;
  /** The e-mail address of the identity, if the provider knows one. */
  identityEmail: string;
  access: Access;
  /**
   * What the names above stand for at the provider now: exactly this is approved and granted, even when the names
   * move.
   */
  pin: Pin;
  residual: string;
  /** What the holder may leave behind, in the connector's words; absent for nothing. */
  leavesBehind?: string;
  /** How the provider ends the access by itself; absent when it does not. */
  expiry?: Expiry;
}

/** Exactly what a request would grant: what an approver sees and decides, and what is then granted. */
export interface Plan {
  role: string;
  reason: string;
  /** Milliseconds. */
  duration: number;
  grants: PlannedGrant[];
  /**
   * The names by which the account of each grant belongs to a person (`namesOfAccount`). They are not approved and not
   * in the digest: the account is the same under any name.
   */
  knownAs: string[][];
  requester: { email: string; name: string };
  /** Binds a decision to this content; the following grant must have the same digest. */
  digest: string;
}

/** The maximum number of grants of one request: approvers do not review more, and each is a call of a provider. */
const mostGrants = 500;

/**
 * Computes exactly what a request would grant, from the server's own catalog and the providers' own identities. Throws
 * `AccessError` when the request may not be made (any more), and `Retryable` when a provider is not available now.
 */
export async function planElevation(
  ctx: Store,
  { input, workflow }: { input: ElevationInput; workflow: string },
  signal: AbortSignal,
): Promise<Plan> {
  const { role, duration, places } = admitRequest(ctx.catalog.current(), { input, workflow });
  const grants: PlannedGrant[] = [];
  const knownAs: string[][] = [];
  for (const place of places) {
    const planned = await planProvider(ctx, role, place, input, signal);
    grants.push(...planned.map(({ grant }) => grant));
    knownAs.push(...planned.map(({ names }) => names));
    if (grants.length > mostGrants) throw tooMany(input);
  }
  if (grants.length === 0) throw invalid('providers', 'the request grants no access');
  const requester = { email: input.user.email, name: input.user.name };
  const content = { role: role.name, reason: input.reason, duration, grants, requester };
  return { ...content, knownAs, digest: digestOf(content) };
}

/** A provider of a request, and the role's access there. */
interface Place {
  provider: CompiledProvider;
  accesses: readonly Access[];
}

/**
 * Returns what the configuration alone says of a request: its role, its duration in milliseconds, and its access at
 * each provider. Throws `AccessError` when the request may not be made.
 */
export function admitRequest(
  catalog: Catalog,
  { input, workflow }: { input: ElevationInput; workflow: string },
): { role: CompiledRole; duration: number; places: Place[] } {
  if (input.extended_access_ended) {
    throw accessEnded();
  }
  const role = roleOf(catalog, input);
  requireWorkflow(catalog, role, workflow);
  const duration = requireDuration(input.duration, 'duration');
  const places = input.providers.map((id) => {
    if (duration > longestDuration(catalog, role, id)) throw invalid('duration', 'is longer than the role allows');
    const provider = catalog.providers.get(id);
    const accesses = role.accesses.get(id);
    if (!provider?.enabled || !accesses || !isInAudience(input.user, provider.definition.permissions)) {
      throw invalid('providers', `the role cannot be requested at "${id}"`);
    }
    requireMinimum(provider, accesses, duration);
    return { provider, accesses };
  });
  return { role, duration, places };
}

/** Returns the current role: the catalog's, or the one that a dynamic request builds within the current bounds. */
function roleOf(catalog: Catalog, input: ElevationInput): CompiledRole {
  const { dynamic, providers, user } = input;
  if (dynamic) return composeRole(catalog, user, { providers, asked: dynamic });
  const role = catalog.roles.get(input.role);
  if (!role?.enabled || !isInAudience(user, role.definition.permissions)) throw notFound(`Role ${input.role}`);
  return role;
}

/**
 * Returns the longest duration of a role at a provider: the smaller of the role's and the provider's maximum, in
 * milliseconds.
 */
export function longestDuration(catalog: Catalog, role: CompiledRole, provider: string): number {
  return Math.min(role.maxDuration, catalog.providers.get(provider)?.maxDuration ?? Number.POSITIVE_INFINITY);
}

async function planProvider(
  ctx: Store,
  role: CompiledRole,
  { provider, accesses }: Place,
  input: ElevationInput,
  signal: AbortSignal,
): Promise<{ grant: PlannedGrant; names: string[] }[]> {
  const { id } = provider;
  const client = ctx.catalog.client(id);
  if (!client?.authorizer || !client.identities) throw new Retryable(`The provider "${id}" has no client yet`);
  const { authorizer } = client;
  const { leavesBehind } = authorizer;
  const own = await client.identities.find(await soughtBy(ctx, client.identities, input.user), signal);
  const found = await findIdentities(client.identities, own, { provider: id, role, input }, signal);
  const named = found.flatMap((identity) => accesses.map((access) => ({ identity, access })));
  // Before any pin is looked up, because each lookup is a call of the provider.
  if (named.length > mostGrants) throw tooMany(input);
  const refuse = input.dynamic && authorizer.aliases && refuseAliases(ctx, id, authorizer, signal);
  return Promise.all(
    named.map(async ({ identity, access }) => ({
      grant: {
        provider: id,
        identity: identity.id,
        identityEmail: identity.email,
        access,
        pin: await pin(authorizer, { identity: identity.id, access }, id, signal, refuse),
        residual: residualOf(authorizer, access),
        ...(leavesBehind === undefined ? {} : { leavesBehind }),
        ...expiryOf(provider, access),
      },
      names: identity === own ? [foldName(input.user.email)] : namesOfAccount(identity),
    })),
  );
}

function expiryOf({ connector, config }: CompiledProvider, access: Access): { expiry?: Expiry } {
  const expiry = connector.expiry?.(config, access);
  return expiry ? { expiry } : {};
}

async function pin(
  authorizer: Authorizer,
  named: Named,
  provider: string,
  signal: AbortSignal,
  refuse?: (pin: Pin) => Promise<void>,
): Promise<Pin> {
  const found = await authorizer.pin(named, signal);
  await (found && refuse?.(found));
  if (found) return found;
  const what = Object.values(named.access).map(String).join(' ');
  throw invalid('providers', `"${provider}" has no identity "${named.identity}" or no access "${what}"`);
}

/** Returns a function that throws `invalid` when the bounds of a dynamic request deny an access under another of its names. */
function refuseAliases(ctx: Store, provider: string, authorizer: Authorizer, signal: AbortSignal) {
  return async (pin: Pin) =>
    refuseDenied(ctx.catalog.current(), provider, (await authorizer.aliases?.(pin, signal)) ?? []);
}

function tooMany(input: ElevationInput): AccessError {
  const path = input.identities.length > 1 ? 'identities' : 'providers';
  return invalid(path, `exceed ${mostGrants} grants: split them into several requests`);
}

async function findIdentities(
  identities: Identities,
  own: ProviderIdentity | null,
  { provider, role, input }: { provider: string; role: CompiledRole; input: ElevationInput },
  signal: AbortSignal,
): Promise<ProviderIdentity[]> {
  if (input.identities.length === 0) {
    if (!own) throw invalid('identities', `you have no identity at "${provider}"`);
    return [own];
  }
  const wanted = [...new Set(input.identities)];
  if (own && wanted.length === 1 && [own.id, own.email, own.name].includes(wanted[0] ?? '')) return [own];
  const { delegates } = role.definition.permissions ?? {};
  if (!delegates || !isNamed(input.user, delegates)) {
    throw new AccessError('forbidden', 'The role cannot be requested on behalf of others', {
      issues: [{ path: 'identities', message: 'is the identity of another person' }],
    });
  }
  return Promise.all(wanted.map((name) => findNamed(identities, { provider, name }, signal)));
}

/** How many identities are read to find one with an exact address. */
const mostAlike = 50;

/** Returns the one identity with this id or address. Throws `invalid` when there is none or more than one. */
async function findNamed(
  identities: Identities,
  { provider, name }: { provider: string; name: string },
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const [exact, alike] = await Promise.all([identities.get(name, signal), identities.search(name, mostAlike, signal)]);
  const same = alike.filter((identity) => isAccountNamed(identity, name));
  const matches = new Map([...(exact ? [exact] : []), ...same].map((identity) => [identity.id, identity]));
  const [match] = matches.values();
  if (!match || matches.size > 1) throw invalid('identities', `"${name}" is unknown or ambiguous at "${provider}"`);
  return match;
}

/** Throws `invalid` for a duration shorter than the provider grants access for. */
function requireMinimum(
  { id, connector, config }: CompiledProvider,
  accesses: readonly Access[],
  duration: number,
): void {
  for (const access of accesses) {
    const minimum = connector.expiry?.(config, access)?.minimum;
    if (minimum !== undefined && duration < parseDuration(minimum)) {
      throw invalid('duration', `is shorter than ${minimum}, the shortest time that "${id}" grants this for`);
    }
  }
}

/**
 * Throws `invalid` unless a role can be requested through a workflow now: another workflow may have other approvers,
 * so the workflows of a role are one of its bounds. A disabled workflow is never replaced by the next one of the
 * role, which may require less.
 */
export function requireWorkflow(catalog: Catalog, role: CompiledRole, name: string): void {
  if (!role.workflows.includes(name)) {
    throw invalid('workflow', `the role "${role.name}" cannot be requested through "${name}"`);
  }
  if (catalog.workflows.get(name)?.enabled) return;
  const others = role.workflows.filter((each) => catalog.workflows.get(each)?.enabled);
  const instead = others.length === 0 ? '' : `; use another one: ${others.join(', ')}`;
  throw invalid('workflow', `the workflow "${name}" is disabled${instead}`);
}
