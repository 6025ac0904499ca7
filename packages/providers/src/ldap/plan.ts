import type { AccessRequest, Plan, PlanIssue } from '../port.js';
import type { LdapConfig } from './config.js';

const prefix = 'group/';
const longestName = 512;

/** Returns one access, a membership, for each requested group. Returns all errors together; never throws. */
export function planMemberships(_config: LdapConfig, request: AccessRequest): Plan {
  const issues: PlanIssue[] = [];
  for (const kind of ['permissions', 'resources'] as const) {
    for (const list of ['allow', 'deny'] as const) {
      request[kind][list].forEach((_, index) => {
        issues.push({
          path: `${kind}.${list}[${index}]`,
          message: 'LDAP access is membership of groups: give the privileges to a group and inherit group/<name>',
        });
      });
    }
  }
  if (request.roles.length === 0) issues.push({ path: 'inherits', message: 'must name at least one group' });
  request.roles.forEach((role, index) => {
    const fault = faultOf(role);
    if (fault) issues.push({ path: `inherits[${index}]`, message: fault });
  });
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, accesses: [...new Set(request.roles)].map((role) => ({ group: role.slice(prefix.length) })) };
}

function faultOf(role: string): string | undefined {
  if (!role.startsWith(prefix) || role === prefix) return 'must be group/<name>, for example group/DB Operators';
  const name = role.slice(prefix.length);
  if (name.length > longestName) return `is longer than ${longestName} characters`;
  if (/\p{Cc}|\p{Surrogate}/u.test(name)) return 'contains characters that the name of a group cannot have';
  if (name !== name.trim()) return 'begins or ends with a space';
  return undefined;
}
