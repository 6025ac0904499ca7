import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { AccessRequest, Named, Plan, PlanIssue } from '../port.js';
import type { GcpConfig } from './config.js';

const roleName = /^(?:(?:projects\/[a-z0-9.:-]{1,80}|organizations\/\d{1,20})\/)?roles\/[A-Za-z][A-Za-z0-9_.]{1,99}$/;
const projectName = /^projects\/[a-z0-9.:-]{1,80}$/;
/** Google Cloud accepts no condition on these roles, and they have thousands of permissions. */
const basic = ['roles/owner', 'roles/editor', 'roles/viewer'];

const roleAccess = z.strictObject({
  role: z
    .string()
    .regex(roleName)
    .refine((role) => !basic.includes(role)),
  resource: z.string().regex(projectName),
});
const groupAccess = z.strictObject({ group: z.email() });

/** A role on a project, `projects/<id>`. */
export type RoleAccess = z.infer<typeof roleAccess>;
/** Membership of a group, by its e-mail address. */
export type GroupAccess = z.infer<typeof groupAccess>;

/** Returns one access for each role on each project, and one for each group. Reports every fault at once. */
export function planAccess(config: GcpConfig, { roles, permissions, resources }: AccessRequest): Plan {
  const issues: PlanIssue[] = [
    ...reject(permissions.allow, 'permissions.allow', 'Google Cloud grants roles, not permissions: inherit a role'),
    ...reject(permissions.deny, 'permissions.deny', 'deny policies are not supported'),
    ...reject(resources.deny, 'resources.deny', 'deny policies are not supported'),
  ];
  const wanted: RoleAccess['role'][] = [];
  const accesses: (RoleAccess | GroupAccess)[] = [];
  roles.forEach((name, index) => {
    const role = /^role\/(.*)$/s.exec(name)?.[1];
    const group = /^group\/(.*)$/s.exec(name)?.[1];
    const message = role === undefined ? explainGroup(config, group) : explainRole(role);
    if (message !== undefined) issues.push({ path: `inherits[${index}]`, message });
    else if (role !== undefined) wanted.push(role);
    else if (group !== undefined) accesses.push({ group });
  });
  if (roles.length === 0) {
    issues.push({
      path: 'inherits',
      message: 'must name a role or a group, for example role/roles/bigquery.dataViewer',
    });
  } else if (wanted.length === 0 && resources.allow.length > 0) {
    issues.push({ path: 'resources.allow', message: 'is for roles; membership of a group has no resource' });
  } else if (wanted.length > 0 && resources.allow.length === 0) {
    issues.push({ path: 'resources.allow', message: 'must name a project: projects/<id>' });
  }
  resources.allow.forEach((resource, index) => {
    const id = /^projects\/(.*)$/s.exec(resource)?.[1];
    if (id === undefined) {
      issues.push({ path: `resources.allow[${index}]`, message: 'is not a project: projects/<id>' });
    } else if (!config.projects.includes(id)) {
      issues.push({ path: `resources.allow[${index}]`, message: "is not among the provider's projects" });
    }
  });
  if (issues.length > 0) return { ok: false, issues };
  accesses.push(...wanted.flatMap((role) => resources.allow.map((resource) => ({ role, resource }))));
  return { ok: true, accesses: [...new Map(accesses.map((each) => [JSON.stringify(each), each])).values()] };
}

function explainRole(role: string): string | undefined {
  if (basic.includes(role))
    return 'is a basic role, which Google Cloud does not grant with an expiry: use a predefined role';
  if (!roleName.test(role)) return 'is not a role: role/roles/<name>, or role/projects/<id>/roles/<name>';
  return undefined;
}

function explainGroup({ groups }: GcpConfig, group: string | undefined): string | undefined {
  if (group === undefined) return 'is neither role/<role> nor group/<e-mail address>';
  return groups.includes(group) ? undefined : "is not among the provider's groups";
}

function reject(list: readonly string[], at: string, message: string): PlanIssue[] {
  return list.map((_, index) => ({ path: `${at}[${index}]`, message }));
}

/** Returns an access by the names of the configuration. Throws `Terminal` when it does not belong to this connector. */
export function readAccess({ access }: Pick<Named, 'access'>): RoleAccess | GroupAccess {
  const result = z.union([roleAccess, groupAccess]).safeParse(access);
  if (!result.success) throw new Terminal('The access is neither a role on a project nor membership of a group');
  return result.data;
}
