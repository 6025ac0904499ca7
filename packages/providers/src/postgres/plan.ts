import type { AccessRequest, Plan, PlanIssue } from '../port.js';
import { longestName, type PostgresConfig } from './config.js';

/** Letters, digits and the few marks that occur in names of roles; other characters are a mistake or an attack. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.@$+ -]*$/;

/** Returns one access, a membership, for each requested database role. Returns all errors together; never throws. */
export function planMemberships(_config: PostgresConfig, request: AccessRequest): Plan {
  const issues: PlanIssue[] = [];
  for (const kind of ['permissions', 'resources'] as const) {
    for (const list of ['allow', 'deny'] as const) {
      request[kind][list].forEach((_, index) => {
        issues.push({
          path: `${kind}.${list}[${index}]`,
          message:
            'PostgreSQL access is membership of database roles: grant the privileges to a role and inherit that role',
        });
      });
    }
  }
  if (request.roles.length === 0) {
    issues.push({ path: 'inherits', message: 'must name at least one database role' });
  }
  request.roles.forEach((role, index) => {
    const fault = faultOfName(role);
    if (fault) issues.push({ path: `inherits[${index}]`, message: fault });
  });
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, accesses: [...new Set(request.roles)].map((role) => ({ role })) };
}

function faultOfName(role: string): string | undefined {
  if (Buffer.byteLength(role) > longestName)
    return `is longer than ${longestName} bytes, the limit for the name of a database role`;
  if (!plainName.test(role))
    return 'is not a valid name of a database role: use only letters, digits, spaces and _ . @ $ + -';
  return undefined;
}
