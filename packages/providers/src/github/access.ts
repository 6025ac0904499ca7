import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { Access, AccessRequest, Plan, PlanIssue } from '../port.js';

/** A repository's roles, from the least access to the most, with their names in the API. */
export const repositoryRoles = { read: 'pull', triage: 'triage', write: 'push', maintain: 'maintain', admin: 'admin' };
export type RepositoryRole = keyof typeof repositoryRoles;

const teamName = /^team\/([a-z0-9_][a-z0-9_.-]{0,254})$/i;
const organizationRole = /^org-role\/(\S(?:.{0,253}\S)?)$/;
const repositoryRole = /^repo-role\/(read|triage|write|maintain|admin)$/;
const repositoryName = /^[a-z0-9](?:[a-z0-9-]{0,38})\/(?!\.{1,2}$)[a-z0-9._-]{1,100}$/i;

const schema = z.union([
  z.strictObject({ role: z.string().regex(teamName) }),
  z.strictObject({ role: z.string().regex(organizationRole) }),
  z.strictObject({ role: z.string().regex(repositoryRole), repository: z.string().regex(repositoryName) }),
]);

/** The parts of an access, with the names from the configuration. */
export type Target =
  | { kind: 'team'; name: string }
  | { kind: 'org-role'; name: string }
  | { kind: 'repo-role'; name: string; role: RepositoryRole };

/** Returns the parts of an access. Throws `Terminal` when it does not belong to this connector. */
export function targetOf(access: Access): Target {
  const result = schema.safeParse(access);
  if (!result.success) throw new Terminal('The access is not a team, an organization role or a role in a repository');
  const { role } = result.data;
  const team = teamName.exec(role)?.[1];
  if (team !== undefined) return { kind: 'team', name: team };
  const level = repositoryRole.exec(role)?.[1];
  if (level !== undefined && 'repository' in result.data) {
    return { kind: 'repo-role', name: result.data.repository, role: level as RepositoryRole };
  }
  return { kind: 'org-role', name: organizationRole.exec(role)?.[1] ?? '' };
}

/** Returns whether a text can be in `exclusive`. */
export function isExclusive(text: string): boolean {
  return teamName.test(text) || organizationRole.test(text) || (repositoryName.test(text) && !isRole(text));
}

function isRole(text: string): boolean {
  return /^(team|org-role|repo-role)\//.test(text);
}

/**
 * Returns one access for each team and organization role, and one for each role in each repository. Reports every fault at once;
 * never throws.
 */
export function planAccesses(
  { allow_privileged_roles: privileged }: { allow_privileged_roles: boolean },
  { roles, permissions, resources }: AccessRequest,
): Plan {
  const inRepositories = roles.filter((role) => role.startsWith('repo-role/'));
  const issues: PlanIssue[] = [
    ...reject(permissions.allow, 'permissions.allow', 'GitHub permissions are in roles: inherit a team or a role'),
    ...reject(permissions.deny, 'permissions.deny', 'GitHub cannot deny'),
    ...reject(resources.deny, 'resources.deny', 'GitHub cannot deny'),
    ...roles.flatMap((role, index) => {
      const message = findFault(role, privileged);
      return message === undefined ? [] : [{ path: `inherits[${index}]`, message }];
    }),
    ...resources.allow.flatMap((name, index) =>
      repositoryName.test(name) && !isRole(name)
        ? []
        : [{ path: `resources.allow[${index}]`, message: 'is not a repository: <owner>/<repository>' }],
    ),
  ];
  if (roles.length === 0)
    issues.push({ path: 'inherits', message: 'must name a team or a role, for example team/oncall' });
  if (inRepositories.length > 0 && resources.allow.length === 0) {
    issues.push({ path: 'resources.allow', message: 'must name a repository for repo-role: <owner>/<repository>' });
  }
  if (inRepositories.length === 0 && resources.allow.length > 0) {
    issues.push({ path: 'resources.allow', message: 'names repositories, but inherits has no repo-role for them' });
  }
  if (new Set(inRepositories).size > 1) {
    issues.push({
      path: 'inherits',
      message: 'has two roles for the same repositories, but a person can have only one',
    });
  }
  if (issues.length > 0) return { ok: false, issues };
  const others = roles.filter((role) => !inRepositories.includes(role)).map((role) => ({ role }));
  const repositories = [...new Set(inRepositories)].flatMap((role) =>
    resources.allow.map((repository) => ({ role, repository })),
  );
  const accesses: Access[] = [...others, ...repositories];
  return { ok: true, accesses: [...new Map(accesses.map((each) => [JSON.stringify(each), each])).values()] };
}

function findFault(role: string, privileged: boolean): string | undefined {
  if (role === 'repo-role/admin' && !privileged) {
    return 'is privileged: its holder can give access to others; to permit it, set allow_privileged_roles for the provider';
  }
  if (role.startsWith('repo-role/') && !repositoryRole.test(role)) {
    return 'is not a role of repositories: read, triage, write, maintain or admin; give a custom role to a team';
  }
  if (teamName.test(role) || organizationRole.test(role) || repositoryRole.test(role)) return undefined;
  return 'is not a role: team/<slug>, repo-role/<role> or org-role/<name>';
}

function reject(list: readonly string[], at: string, message: string): PlanIssue[] {
  return list.map((_, index) => ({ path: `${at}[${index}]`, message }));
}
