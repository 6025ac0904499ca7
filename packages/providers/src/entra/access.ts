import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { Access, AccessRequest, Named, Plan, PlanIssue } from '../port.js';
import type { EntraConfig, kinds } from './config.js';
import { isName, isScope, isWithin } from './names.js';

const name = z.string().refine(isName);
const accessSchema = z.union([
  z.strictObject({ group: name }),
  z.strictObject({ directory_role: name }),
  z.strictObject({ azure_role: name, scope: z.string().refine(isScope) }),
]);
/** The access of this connector, with the names from the configuration. */
export type EntraAccess = z.infer<typeof accessSchema>;
export type Kind = (typeof kinds)[number];

/** Returns one access for each group and directory role, and one for each role of Azure on each scope. */
export function planAccess(config: EntraConfig, { roles, permissions, resources }: AccessRequest): Plan {
  const issues: PlanIssue[] = [
    ...reject(permissions.allow, 'permissions.allow', 'Entra grants groups and roles, not permissions: inherit one'),
    ...reject(permissions.deny, 'permissions.deny', 'deny assignments are not supported'),
    ...reject(resources.deny, 'resources.deny', 'deny assignments are not supported'),
  ];
  const azureRoles: string[] = [];
  const accesses: EntraAccess[] = [];
  roles.forEach((role, index) => {
    const [, prefix, rest = ''] = /^([a-z-]+)\/(.*)$/s.exec(role) ?? [];
    const fault = faultOf(config, prefix, rest);
    if (fault !== undefined) issues.push({ path: `inherits[${index}]`, message: fault });
    else if (prefix === 'azure-role') azureRoles.push(rest);
    else accesses.push(prefix === 'group' ? { group: rest } : { directory_role: rest });
  });
  if (roles.length === 0)
    issues.push({ path: 'inherits', message: 'must name a group or a role, for example group/Shop Operators' });
  else if (azureRoles.length === 0 && resources.allow.length > 0) {
    issues.push({
      path: 'resources.allow',
      message: 'is for roles of Azure; groups and directory roles have no resource',
    });
  } else if (azureRoles.length > 0 && resources.allow.length === 0) {
    issues.push({ path: 'resources.allow', message: 'must name a scope of Azure, for example /subscriptions/<id>' });
  }
  resources.allow.forEach((scope, index) => {
    if (!isScope(scope)) {
      issues.push({
        path: `resources.allow[${index}]`,
        message: 'is not a scope of Azure, such as /subscriptions/<id>',
      });
    } else if (!config.scopes.some((one) => isWithin(scope, one))) {
      issues.push({ path: `resources.allow[${index}]`, message: "is not within the provider's scopes" });
    }
  });
  if (issues.length > 0) return { ok: false, issues };
  accesses.push(...azureRoles.flatMap((role) => resources.allow.map((scope) => ({ azure_role: role, scope }))));
  return { ok: true, accesses: [...new Map(accesses.map((each) => [JSON.stringify(each), each])).values()] };
}

function faultOf(config: EntraConfig, prefix: string | undefined, name: string): string | undefined {
  if (prefix === undefined || !['group', 'directory-role', 'azure-role'].includes(prefix)) {
    return 'must be group/<name>, directory-role/<name> or azure-role/<name>';
  }
  if (!isName(name)) return 'is not a name of Entra: 1 to 256 characters without control characters';
  if (prefix === 'directory-role' && !config.directory_roles.includes(name)) {
    return "is not among the provider's directory_roles";
  }
  return undefined;
}

function reject(list: readonly string[], at: string, message: string): PlanIssue[] {
  return list.map((_, index) => ({ path: `${at}[${index}]`, message }));
}

/** Returns an access by its names. Throws `Terminal` when it does not belong to this connector. */
export function readAccess({ access }: Pick<Named, 'access'>): EntraAccess {
  const result = accessSchema.safeParse(access);
  if (result.success) return result.data;
  throw new Terminal('The access is neither a group, a directory role nor a role of Azure on a scope');
}

/** Returns the kind of an access, by its form alone. */
export function kindOf(access: Access): Kind {
  if ('group' in access) return 'groups';
  return 'directory_role' in access ? 'directory_roles' : 'azure_roles';
}
