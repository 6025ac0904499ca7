import type { ErrorIssue } from '@belay/contract/errors';
import type { AccessRequest } from '@belay/providers';
import { unknownName } from './issue.js';
import type { ProviderDefinition, RoleDefinition } from './schema.js';

export interface RoleGraph {
  roles: Readonly<Record<string, RoleDefinition>>;
  providers: Readonly<Record<string, ProviderDefinition>>;
}

/** What a role, or one of its parents, requests of one provider. Roles, permissions and resources of one request belong together. */
export interface Contribution {
  /** The role whose entries these are. */
  role: string;
  request: AccessRequest;
  /**
   * The path of each entry in the configuration: `permissions.allow[0]` is `roles.base.permissions.allow[2]`, for
   * example.
   */
  origins: ReadonlyMap<string, string>;
  /** Whether the request has resources without a role or a permission. Some connectors support that. */
  resourcesOnly: boolean;
}

interface Entry {
  name: string;
  path: string;
}

/**
 * Returns what a role and its parents request of each provider of the role: one request for each contributing role and
 * the resources that it uses, never one that combines the entries of all roles (decision 0039). A parent contributes at
 * the providers that it names itself. It uses its own resources or, if it has none, those of the nearest role on the
 * path to it. A denial of any role of the family counts for every request. Returns undefined, with issues, when a
 * parent, a provider or a resource is not valid, or the inheritance has a cycle: nothing of such a role is granted.
 */
export function collectAccess(
  name: string,
  graph: RoleGraph,
  issues: ErrorIssue[],
): Map<string, Contribution[]> | undefined {
  const role = graph.roles[name];
  if (!role) return undefined;
  const family = new Set<string>();
  if (!checkFamily(name, graph, issues, family)) return undefined;
  const sound = checkResources(name, role, graph, issues);
  if (!sound) return undefined;
  return new Map(role.providers.map((provider) => [provider, contributionsAt(provider, name, family, graph)]));
}

/** Collects a role and its parents; returns false, with issues, when that fails. */
function checkFamily(name: string, graph: RoleGraph, issues: ErrorIssue[], family: Set<string>): boolean {
  return visit(name, []);

  function visit(current: string, trail: readonly string[]): boolean {
    if (trail.includes(current)) {
      const path = `roles.${name}.inherits`;
      issues.push({ path, message: `inherits in a circle: ${[...trail, current].join(' → ')}` });
      return false;
    }
    if (family.has(current)) return true;
    family.add(current);
    const inherits = graph.roles[current]?.inherits ?? [];
    return inherits
      .map((parent, index) => inherit(parent, `roles.${current}.inherits[${index}]`, [...trail, current]))
      .every(Boolean);
  }

  function inherit(parent: string, path: string, trail: readonly string[]): boolean {
    const colon = parent.indexOf(':');
    if (colon === -1) {
      if (Object.hasOwn(graph.roles, parent)) return visit(parent, trail);
      issues.push(unknownName(path, `there is no role "${parent}"`, parent, () => Object.keys(graph.roles)));
      return false;
    }
    const provider = parent.slice(0, colon);
    const [owner = name] = trail.slice(-1);
    if (!Object.hasOwn(graph.providers, provider)) {
      const known = () => Object.keys(graph.providers);
      issues.push(unknownName(path, `there is no provider "${provider}"`, provider, known));
      return false;
    }
    if (graph.roles[owner]?.providers.includes(provider)) return true;
    // A parent's own errors are reported where the parent is checked itself.
    if (trail.length === 1) issues.push({ path, message: `the role is not for the provider "${provider}"` });
    return trail.length > 1;
  }
}

/** Checks a resource with a provider prefix: the provider must be one of the role's, and a resource must follow. */
function checkResources(name: string, role: RoleDefinition, graph: RoleGraph, issues: ErrorIssue[]): boolean {
  const before = issues.length;
  for (const list of ['allow', 'deny'] as const) {
    role.resources?.[list].forEach((entry, index) => {
      const { provider, name: resource } = splitResource(entry, (id) => Object.hasOwn(graph.providers, id));
      const path = `roles.${name}.resources.${list}[${index}]`;
      if (provider === undefined) return;
      if (resource === '') issues.push({ path, message: 'must name a resource' });
      else if (!role.providers.includes(provider)) {
        issues.push({ path, message: `the role is not for the provider "${provider}"` });
      }
    });
  }
  return issues.length === before;
}

/**
 * Returns the two parts of a resource entry: `<provider>:<resource>` when the prefix is the name of a provider,
 * otherwise the whole.
 */
export function splitResource(
  entry: string,
  isProvider: (id: string) => boolean,
): { provider: string | undefined; name: string } {
  const colon = entry.indexOf(':');
  const prefix = entry.slice(0, Math.max(0, colon));
  return isProvider(prefix) ? { provider: prefix, name: entry.slice(colon + 1) } : { provider: undefined, name: entry };
}

function contributionsAt(
  provider: string,
  name: string,
  family: ReadonlySet<string>,
  graph: RoleGraph,
): Contribution[] {
  const denied = {
    permissions: [...family].flatMap((one) => entriesOf(one, graph.roles[one]?.permissions?.deny, 'permissions.deny')),
    resources: [...family].flatMap((one) => resourcesOf(one, 'deny')),
  };
  const contributions: Contribution[] = [];
  const seen = new Set<string>();
  const used = new Set<string>();
  visit(name, undefined);
  for (const one of family) {
    if (used.has(one) || !isFor(one) || resourcesOf(one, 'allow').length === 0) continue;
    contributions.push(contribute(one, [], [], one));
  }
  return contributions;

  /** `owner`: the nearest role with resources on the path to `current`. */
  function visit(current: string, owner: string | undefined): void {
    const own = resourcesOf(current, 'allow').length > 0 ? current : owner;
    const way = JSON.stringify([current, own]);
    if (seen.has(way)) return;
    seen.add(way);
    const definition = graph.roles[current];
    // What is inherited from a role that is not for this provider is skipped too.
    if (!definition || !isFor(current)) return;
    const roles: Entry[] = [];
    definition.inherits.forEach((parent, index) => {
      const colon = parent.indexOf(':');
      if (colon === -1) visit(parent, own);
      else if (parent.slice(0, colon) === provider) {
        roles.push({ name: parent.slice(colon + 1), path: `roles.${current}.inherits[${index}]` });
      }
    });
    const permissions = entriesOf(current, definition.permissions?.allow, 'permissions.allow');
    if (roles.length + permissions.length === 0) return;
    if (own !== undefined) used.add(own);
    contributions.push(contribute(current, roles, permissions, own));
  }

  function isFor(one: string): boolean {
    return graph.roles[one]?.providers.includes(provider) === true;
  }

  function resourcesOf(one: string, list: 'allow' | 'deny'): Entry[] {
    return entriesOf(one, graph.roles[one]?.resources?.[list], `resources.${list}`).flatMap((entry) => {
      const named = splitResource(entry.name, (id) => Object.hasOwn(graph.providers, id));
      return named.provider === undefined || named.provider === provider ? [{ ...entry, name: named.name }] : [];
    });
  }

  function contribute(one: string, roles: Entry[], permissions: Entry[], owner: string | undefined): Contribution {
    const resources = owner === undefined ? [] : resourcesOf(owner, 'allow');
    const lists: [string, Entry[]][] = [
      ['inherits', roles],
      ['permissions.allow', permissions],
      ['permissions.deny', denied.permissions],
      ['resources.allow', resources],
      ['resources.deny', denied.resources],
    ];
    return {
      role: one,
      request: {
        roles: roles.map((entry) => entry.name),
        permissions: {
          allow: permissions.map((entry) => entry.name),
          deny: denied.permissions.map((entry) => entry.name),
        },
        resources: { allow: resources.map((entry) => entry.name), deny: denied.resources.map((entry) => entry.name) },
      },
      origins: new Map(
        lists.flatMap(([list, entries]) => entries.map((entry, index) => [`${list}[${index}]`, entry.path] as const)),
      ),
      resourcesOnly: roles.length + permissions.length === 0,
    };
  }
}

function entriesOf(role: string, names: readonly string[] | undefined, list: string): Entry[] {
  return (names ?? []).map((name, index) => ({ name, path: `roles.${role}.${list}[${index}]` }));
}
