import type { AccessRequest, Plan, PlanIssue } from '../port.js';
import { longestName, type PostgresConfig } from './config.js';

/** Letters, digits and the few marks that occur in names of roles; anything else is a mistake or an attack. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.@$+ -]*$/;

/** One access, membership, for each database role that is asked for. Says every fault at once; throws nothing. */
export function planMemberships(_config: PostgresConfig, request: AccessRequest): Plan {
  const issues: PlanIssue[] = [];
  for (const kind of ['permissions', 'resources'] as const) {
    for (const list of ['allow', 'deny'] as const) {
      request[kind][list].forEach((_, index) => {
        issues.push({
          path: `${kind}.${list}[${index}]`,
          message: 'PostgreSQL access is membership of database roles: put the privileges on a role and inherit that',
        });
      });
    }
  }
  if (request.roles.length === 0) {
    issues.push({ path: 'inherits', message: 'names no database role to become a member of' });
  }
  request.roles.forEach((role, index) => {
    const fault = faultOfName(role);
    if (fault) issues.push({ path: `inherits[${index}]`, message: fault });
  });
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, accesses: [...new Set(request.roles)].map((role) => ({ role })) };
}

function faultOfName(role: string): string | undefined {
  if (Buffer.byteLength(role) > longestName) return `is longer than the ${longestName} bytes of a database role's name`;
  if (!plainName.test(role)) return 'is not the name of a database role: letters, digits, spaces and _ . @ $ + - only';
  return undefined;
}
