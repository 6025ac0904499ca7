import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Plan } from '../port.js';
import { isPossibleName, longestName, type MysqlConfig } from './config.js';

/** Letters, digits and the few marks that occur in names of roles; other characters are a mistake or an attack. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.$+ -]*$/;

/** Returns one access for each requested role of the server. Returns all errors together; never throws. */
export function planGrants(_config: MysqlConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly: 'is not supported: privileges are granted to roles of the server, so inherit a role that has them',
    atLeastOne: 'must name at least one role of the server',
    faultOf: (role) =>
      plainName.test(role) && isPossibleName(role)
        ? undefined
        : `is not a valid name of a role: use at most ${longestName} letters, digits, spaces and _ . $ + -`,
    accessOf: (role) => ({ role }),
  });
}
