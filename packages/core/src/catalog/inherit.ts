import type { AccessRequest } from '@belay/providers';
import type { ErrorIssue } from '../errors.js';
import type { ProviderDefinition, RoleDefinition } from './schema.js';

export interface RoleGraph {
  roles: Readonly<Record<string, RoleDefinition>>;
  providers: Readonly<Record<string, ProviderDefinition>>;
}

/**
 * What a role asks of each of its providers, its parents' included. A provider's own role goes to that provider only;
 * permissions and resources go to every provider of the role. Answers undefined, with issues, when a parent is missing
 * or the inheritance runs in a circle: nothing of such a role is granted.
 */
export function collectAccess(
  name: string,
  graph: RoleGraph,
  issues: ErrorIssue[],
): Map<string, AccessRequest> | undefined {
  const role = graph.roles[name];
  if (!role) return undefined;
  const requests = new Map(role.providers.map((provider): [string, AccessRequest] => [provider, emptyRequest()]));
  const sound = visit(name, [], new Set());
  return sound ? requests : undefined;

  function visit(current: string, trail: readonly string[], done: Set<string>): boolean {
    if (trail.includes(current)) {
      issues.push({
        path: `roles.${name}.inherits`,
        message: `inherits in a circle: ${[...trail, current].join(' → ')}`,
      });
      return false;
    }
    if (done.has(current)) return true;
    done.add(current);
    const definition = graph.roles[current];
    if (!definition) return false;
    for (const request of requests.values()) {
      request.permissions.allow.push(...(definition.permissions?.allow ?? []));
      request.permissions.deny.push(...(definition.permissions?.deny ?? []));
      request.resources.allow.push(...(definition.resources?.allow ?? []));
      request.resources.deny.push(...(definition.resources?.deny ?? []));
    }
    return definition.inherits
      .map((parent, index) => inherit(parent, `roles.${current}.inherits[${index}]`, [...trail, current], done))
      .every(Boolean);
  }

  function inherit(parent: string, path: string, trail: readonly string[], done: Set<string>): boolean {
    const colon = parent.indexOf(':');
    if (colon === -1) {
      if (parent in graph.roles) return visit(parent, trail, done);
      issues.push({ path, message: `there is no role "${parent}"` });
      return false;
    }
    const provider = parent.slice(0, colon);
    if (!(provider in graph.providers)) {
      issues.push({ path, message: `there is no provider "${provider}"` });
      return false;
    }
    const request = requests.get(provider);
    if (request) request.roles.push(parent.slice(colon + 1));
    else if (trail.length === 1) {
      issues.push({ path, message: `the role is not for the provider "${provider}"` });
      return false;
    }
    return true;
  }
}

function emptyRequest(): AccessRequest {
  return { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
}
