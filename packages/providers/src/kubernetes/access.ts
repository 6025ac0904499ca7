import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Terminal } from '../errors.js';
import { path } from '../http/client.js';
import type { AccessRequest, Named, Plan, PlanIssue } from '../port.js';

/** Names of roles, which may contain `:`, and of namespaces (RFC 1123 labels). */
const roleName = /^(cluster-role|role)\/(?!.{254})([A-Za-z0-9][A-Za-z0-9.:_-]*)$/;
const scopeName = /^(?:cluster|namespace\/([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?))$/;

/** The access of this connector: a role, in one namespace or in the whole cluster. */
const binding = z
  .strictObject({ role: z.string().regex(roleName), scope: z.string().regex(scopeName) })
  .refine(({ role, scope }) => role.startsWith('cluster-role/') || scope !== 'cluster');

/** An access with the names of the API; `namespace` is absent for the whole cluster. */
export interface Target {
  kind: 'ClusterRole' | 'Role';
  role: string;
  namespace?: string;
}

export const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Returns one access for each role in each of the scopes. Reports every fault at once; never throws. */
export function planBindings(_config: unknown, request: AccessRequest): Plan {
  const issues: PlanIssue[] = [
    ...reject(request.permissions.allow, 'permissions.allow', 'Kubernetes permissions are in roles: inherit a role'),
    ...reject(request.permissions.deny, 'permissions.deny', 'RBAC of Kubernetes cannot deny'),
    ...reject(request.resources.deny, 'resources.deny', 'RBAC of Kubernetes cannot deny'),
  ];
  if (request.roles.length === 0)
    issues.push({ path: 'inherits', message: 'must name a role, for example cluster-role/view' });
  if (request.resources.allow.length === 0) {
    issues.push({ path: 'resources.allow', message: 'must name a scope: cluster, or namespace/<name>' });
  }
  request.roles.forEach((role, index) => {
    const local = role.startsWith('role/') && request.resources.allow.includes('cluster');
    if (!roleName.test(role)) {
      issues.push({ path: `inherits[${index}]`, message: 'is not a role: cluster-role/<name> or role/<name>' });
    } else if (local) {
      issues.push({
        path: `inherits[${index}]`,
        message: 'is a role of one namespace, and resources.allow has cluster',
      });
    }
  });
  request.resources.allow.forEach((scope, index) => {
    if (!scopeName.test(scope)) {
      issues.push({ path: `resources.allow[${index}]`, message: 'is not a scope: cluster, or namespace/<name>' });
    }
  });
  if (issues.length > 0) return { ok: false, issues };
  const accesses = request.roles.flatMap((role) => request.resources.allow.map((scope) => ({ role, scope })));
  return { ok: true, accesses: [...new Map(accesses.map((each) => [`${each.role} ${each.scope}`, each])).values()] };
}

function reject(list: readonly string[], at: string, message: string): PlanIssue[] {
  return list.map((_, index) => ({ path: `${at}[${index}]`, message }));
}

/** Returns the role and scope that an access names. Throws `Terminal` when its access does not belong to this connector. */
export function targetOf({ access }: Pick<Named, 'access'>): Target {
  const result = binding.safeParse(access);
  if (!result.success) throw new Terminal('The access is not a role in a namespace or in the cluster');
  const [, kind = '', role = ''] = roleName.exec(result.data.role) ?? [];
  const namespace = scopeName.exec(result.data.scope)?.[1];
  return {
    kind: kind === 'role' ? 'Role' : 'ClusterRole',
    role,
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** Returns the access that a binding gives, in the form of the connector. */
export function accessOf({ kind, role, namespace }: Target): { role: string; scope: string } {
  return {
    role: `${kind === 'Role' ? 'role' : 'cluster-role'}/${role}`,
    scope: namespace === undefined ? 'cluster' : `namespace/${namespace}`,
  };
}

/** Returns the API path of the bindings of a scope. */
export function bindingsPath({ namespace }: Pick<Target, 'namespace'>): string {
  return namespace === undefined
    ? `${rbac}/clusterrolebindings`
    : `${rbac}${path`/namespaces/${namespace}/rolebindings`}`;
}

/** Returns the API path of a role. */
export function rolePath({ kind, role, namespace }: Target): string {
  if (kind === 'ClusterRole') return `${rbac}${path`/clusterroles/${role}`}`;
  return `${rbac}${path`/namespaces/${namespace ?? ''}/roles/${role}`}`;
}

/**
 * Returns the name of an entitlement's binding. The same identity and access have the same name, so that two grants share one
 * object.
 */
export function bindingName(identity: string, target: Target): string {
  const text = JSON.stringify([identity, target.kind, target.role, target.namespace ?? null]);
  return `belay-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}
