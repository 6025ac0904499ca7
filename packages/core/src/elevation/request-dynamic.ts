import type { DynamicElevationRequest, Elevation } from '@belay/contract/elevation';
import { AccessError, type ErrorIssue, invalid, renameIssues } from '@belay/contract/errors';
import { requireFreshGroups, requireUser } from '../actor.js';
import type { Catalog } from '../configuration/catalog.js';
import type { ActorContext } from '../context.js';
import { composeRole } from '../plans/dynamic-role.js';
import type { RequestTerms } from './store-request.js';
import { submitRequest } from './submit.js';

/** A request that names its access itself, and no role (POST /elevate, form data). */
export type DynamicRequest = RequestTerms &
  Pick<DynamicElevationRequest, 'permissions' | 'resources' | 'groups' | 'users'>;

/**
 * Starts an execution for permissions and groups that the caller chose, within the bounds of the configuration
 * (docs/interface.md, section 16, rule 4; decision 0022). From there it is handled like every request. Throws
 * `invalid` with each field outside the bounds, `forbidden` where the caller may not request in this way or for
 * others, and the errors of `submitRequest`.
 */
export async function requestDynamicElevation(ctx: ActorContext, request: DynamicRequest): Promise<Elevation> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const catalog = ctx.catalog.current();
  const providers = [...new Set(clean(request.providers))];
  if (providers.length === 0) throw invalid('providers', 'is required in a request that names no role');
  const asked = {
    permissions: [...new Set(clean(request.permissions))],
    resources: [...new Set(clean(request.resources))],
    groups: [...new Set(qualify(catalog, providers, clean(request.groups)))],
  };
  const role = composeRole(catalog, user, { providers, asked });
  const { permissions: _, resources: __, groups: ___, users, ...given } = request;
  const terms = { ...given, providers, identities: [...clean(given.identities), ...clean(users)] };
  const { length } = clean(given.identities);
  return submitRequest(ctx, { catalog, user, role, terms, dynamic: asked, request }).catch((error: unknown) => {
    throw renameIssues(error, (path) => ofUsers(path, length));
  });
}

/** Returns a path in the caller's request: the people of `users` were appended to `identities`. */
function ofUsers(path: string, identities: number): string {
  const index = /^identities(?:\[(\d+)\])?$/.exec(path)?.[1];
  if (index !== undefined && Number(index) >= identities) return `users[${Number(index) - identities}]`;
  return path === 'identities' && identities === 0 ? 'users' : path;
}

/** Trims names, and leaves out empty ones. */
function clean(names: readonly string[] | undefined): string[] {
  return (names ?? []).map((name) => name.trim()).filter((name) => name !== '');
}

/**
 * Returns each group with its provider as prefix. Rejects a provider that the request does not name, and a missing
 * prefix when there are several providers.
 */
function qualify(catalog: Catalog, providers: readonly string[], groups: readonly string[]): string[] {
  const issues: ErrorIssue[] = [];
  const qualified = groups.map((group, index) => {
    const prefix = group.slice(0, Math.max(0, group.indexOf(':')));
    if (providers.includes(prefix)) return group;
    if (prefix !== '' && catalog.providers.has(prefix)) {
      issues.push({ path: `groups[${index}]`, message: 'belongs to a provider that the request does not name' });
    } else if (providers.length > 1) {
      issues.push({ path: `groups[${index}]`, message: 'must name its provider: <provider>:<group>' });
    }
    return `${providers[0]}:${group}`;
  });
  if (issues.length > 0) throw new AccessError('invalid', 'The request exceeds what may be requested', { issues });
  return qualified;
}
