import { isInAudience, isNamed } from '@belay/contract/audience';
import { AccessError, type ErrorIssue } from '@belay/contract/errors';
import type { Access } from '@belay/providers';
import type { Catalog, CompiledBounds, CompiledProvider, CompiledRole } from '../configuration/catalog.js';
import { unite } from '../configuration/compile.js';
import { splitResource } from '../configuration/inherit.js';
import { type CompiledNames, denies, faultOfName, permits } from '../configuration/name-rules.js';
import type { ElevationInput } from './input.js';

/**
 * The role name of a request that names no role. No role of a catalog can have this name, because it contains a space.
 */
const dynamicRoleName = 'dynamic access';

export interface DynamicAsk {
  providers: readonly string[];
  asked: NonNullable<ElevationInput['dynamic']>;
}

interface Place {
  provider: CompiledProvider;
  bounds: CompiledBounds;
}

/**
 * Returns the role that a dynamic request builds within the current bounds: at the request, for the approvers, and at
 * the grant. Throws `invalid` with each field outside the bounds, and `forbidden` where the caller may not request
 * permissions and groups directly.
 */
export function composeRole(
  catalog: Catalog,
  user: { email: string; groups: readonly string[] },
  { providers, asked }: DynamicAsk,
): CompiledRole {
  const places = providers.map((id, index) => findPlace(catalog, user, id, index));
  const issues: ErrorIssue[] = [];
  check('permissions', asked.permissions, places, issues);
  asked.resources.forEach((entry, index) => {
    const { provider, name } = splitResource(entry, (id) => catalog.providers.has(id));
    const own = provider === undefined ? places : places.filter((place) => place.provider.id === provider);
    checkName(`resources[${index}]`, name, 'resources', own, issues);
  });
  asked.groups.forEach((group, index) => {
    const [id, name] = splitGroup(group);
    const own = places.filter(({ provider }) => provider.id === id);
    checkName(`groups[${index}]`, name, 'groups', own, issues);
  });
  if (asked.permissions.length + asked.groups.length === 0) {
    issues.push({ path: 'permissions', message: 'is required: name permissions or groups' });
  }
  if (issues.length === 0) issues.push(...plannable(catalog, places, asked));
  if (issues.length > 0) throw refusal(issues);
  const accesses = new Map(places.map((place) => [place.provider.id, plan(catalog, place, asked)] as const));
  const workflows = (places[0]?.bounds.workflows ?? []).filter((name) =>
    places.every(({ bounds }) => bounds.workflows.includes(name)),
  );
  if (workflows.length === 0) {
    throw refusal([
      { path: 'providers', message: 'have no workflow in common: request access at each of them separately' },
    ]);
  }
  const authenticators = commonAuthenticators(places);
  const mayDelegate = places.every(({ bounds }) => bounds.delegates !== undefined && isNamed(user, bounds.delegates));
  const maxDuration = Math.min(...places.map(({ bounds }) => bounds.maxDuration));
  return {
    name: dynamicRoleName,
    definition: {
      description: '',
      providers: [...providers],
      workflows,
      enabled: true,
      inherits: [],
      permissions: { allow: [], deny: [], ...(mayDelegate ? { delegates: { users: [user.email] } } : {}) },
      ...(authenticators === undefined ? {} : { authenticators }),
    },
    enabled: true,
    providers: [...providers],
    workflows,
    accesses,
    maxDuration,
    defaultDuration: Math.min(maxDuration, ...places.map(({ bounds }) => bounds.defaultDuration)),
    approvalLifetime: catalog.approvalLifetime,
    reason: { required: true, pattern: undefined },
  };
}

/**
 * Throws `invalid` when what a dynamic request gives at a provider is denied under another name than the one requested. `aliases` are the
 * provider's own names of it.
 */
export function refuseDenied(catalog: Catalog, provider: string, aliases: readonly string[]): void {
  const bounds = catalog.dynamic.get(provider);
  if (!bounds || !aliases.some((name) => denies(bounds.groups, name))) return;
  throw refusal([{ path: 'groups', message: `include one that you may not request at "${provider}" under any name` }]);
}

/** Returns the two parts of `<provider>:<role>`; a provider's id has no colon, its roles may have one. */
function splitGroup(group: string): [provider: string, name: string] {
  const colon = group.indexOf(':');
  return [group.slice(0, colon), group.slice(colon + 1)];
}

/** Returns a provider and its bounds. The errors do not reveal to a person what only others may request. */
function findPlace(
  catalog: Catalog,
  user: { email: string; groups: readonly string[] },
  id: string,
  index: number,
): Place {
  const provider = catalog.providers.get(id);
  if (!provider?.enabled || !isInAudience(user, provider.definition.permissions)) {
    throw refusal([{ path: `providers[${index}]`, message: `there is no provider "${id}" that you can use` }]);
  }
  const bounds = catalog.dynamic.get(id);
  if (!bounds || !isNamed(user, bounds.requesters)) {
    const message = `access at this provider can only be requested by role`;
    throw new AccessError('forbidden', `You may not request permissions or groups directly at "${id}"`, {
      issues: [{ path: `providers[${index}]`, message }],
    });
  }
  return { provider, bounds };
}

function check(kind: 'permissions', names: string[], places: Place[], issues: ErrorIssue[]): void {
  names.forEach((name, index) => {
    checkName(`${kind}[${index}]`, name, kind, places, issues);
  });
}

/** Adds an issue unless all given providers permit a name: a permission or resource applies to each of them, as with a role. */
function checkName(
  path: string,
  name: string,
  kind: 'permissions' | 'resources' | 'groups',
  places: readonly Place[],
  issues: ErrorIssue[],
): void {
  const fault = faultOfName(name);
  if (fault !== undefined) {
    issues.push({ path, message: fault });
    return;
  }
  const outside = places.find(({ bounds, provider }) => {
    const containers = kind === 'resources' ? provider.connector.containers : undefined;
    return !permits(bounds[kind] satisfies CompiledNames, name, containers);
  });
  if (outside === undefined && places.length > 0) return;
  const where = outside === undefined ? '' : ` at "${outside.provider.id}"`;
  issues.push({ path, message: `is not something that you may request${where}` });
}

function requestFor(catalog: Catalog, { provider }: Place, asked: DynamicAsk['asked']) {
  const resources = asked.resources.flatMap((entry) => {
    const named = splitResource(entry, (id) => catalog.providers.has(id));
    return named.provider === undefined || named.provider === provider.id ? [named.name] : [];
  });
  const own = asked.groups.map(splitGroup).filter(([id]) => id === provider.id);
  return {
    roles: own.map(([, name]) => name),
    // What the bounds deny was rejected above; no connector has to deny it.
    permissions: { allow: [...asked.permissions], deny: [] },
    resources: { allow: resources, deny: [] },
  };
}

function planOf(catalog: Catalog, place: Place, asked: DynamicAsk['asked']) {
  return place.provider.connector.plan?.(place.provider.config, requestFor(catalog, place, asked));
}

function plannable(catalog: Catalog, places: readonly Place[], asked: DynamicAsk['asked']): ErrorIssue[] {
  return places.flatMap((place) => {
    const planned = planOf(catalog, place, asked);
    const { id } = place.provider;
    if (planned?.ok && planned.accesses.length > 0) return [];
    if (!planned || planned.ok) return [{ path: 'providers', message: `the request grants nothing at "${id}"` }];
    return planned.issues.map(({ path, message }) => ({
      path: path.replace(/^inherits/, 'groups').replace(/\.(allow|deny)/, ''),
      message: `${message} (provider "${id}")`,
    }));
  });
}

function plan(catalog: Catalog, place: Place, asked: DynamicAsk['asked']): readonly Access[] {
  const planned = planOf(catalog, place, asked);
  return planned?.ok ? unite(planned.accesses) : [];
}

/** Returns the sign-in providers that the bounds of all providers accept; undefined when no bounds restrict them. */
function commonAuthenticators(places: readonly Place[]): string[] | undefined {
  const lists = places.flatMap(({ bounds }) => (bounds.authenticators === undefined ? [] : [bounds.authenticators]));
  const [first, ...others] = lists;
  return first?.filter((id) => others.every((list) => list.includes(id)));
}

function refusal(issues: ErrorIssue[]): AccessError {
  return new AccessError('invalid', 'The request exceeds what may be requested', { issues });
}
