import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Plan } from '../port.js';
import type { LdapConfig } from './config.js';

const prefix = 'group/';
const longestName = 512;

/** Returns one access, a membership, for each requested group. Returns all errors together; never throws. */
export function planMemberships(_config: LdapConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly: 'LDAP access is membership of groups: give the privileges to a group and inherit group/<name>',
    atLeastOne: 'must name at least one group',
    faultOf,
    accessOf: (role) => ({ group: role.slice(prefix.length) }),
  });
}

function faultOf(role: string): string | undefined {
  if (!role.startsWith(prefix) || role === prefix) return 'must be group/<name>, for example group/DB Operators';
  const name = role.slice(prefix.length);
  if (name.length > longestName) return `is longer than ${longestName} characters`;
  if (/\p{Cc}|\p{Surrogate}/u.test(name)) return 'contains characters that the name of a group cannot have';
  if (name !== name.trim()) return 'begins or ends with a space';
  return undefined;
}
