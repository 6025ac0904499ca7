import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Plan } from '../port.js';
import { longestName, type PostgresConfig } from './config.js';

/** Letters, digits and the few marks that occur in names of roles; other characters are a mistake or an attack. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.@$+ -]*$/;

/** Returns one access, a membership, for each requested database role. Returns all errors together; never throws. */
export function planMemberships(_config: PostgresConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly:
      'PostgreSQL access is membership of database roles: grant the privileges to a role and inherit that role',
    atLeastOne: 'must name at least one database role',
    faultOf: faultOfName,
    accessOf: (role) => ({ role }),
  });
}

function faultOfName(role: string): string | undefined {
  if (Buffer.byteLength(role) > longestName)
    return `is longer than ${longestName} bytes, the limit for the name of a database role`;
  if (!plainName.test(role))
    return 'is not a valid name of a database role: use only letters, digits, spaces and _ . @ $ + -';
  return undefined;
}
