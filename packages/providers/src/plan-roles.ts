import type { Access, AccessRequest, Plan, PlanIssue } from './port.js';

/** The parts of a plan that differ between connectors that grant only roles. */
export interface RolePlan {
  /** The error for requested permissions and resources, with what to do instead. */
  rolesOnly: string;
  /** The error for a request without a role. */
  atLeastOne: string;
  /** Returns what is wrong with a role, or undefined. */
  faultOf(role: string): string | undefined;
  accessOf(role: string): Access;
}

/** Returns one access for each requested role. Returns all errors together; never throws. */
export function planRoles(request: AccessRequest, { rolesOnly, atLeastOne, faultOf, accessOf }: RolePlan): Plan {
  const issues: PlanIssue[] = [];
  for (const kind of ['permissions', 'resources'] as const) {
    for (const list of ['allow', 'deny'] as const) {
      request[kind][list].forEach((_, index) => {
        issues.push({ path: `${kind}.${list}[${index}]`, message: rolesOnly });
      });
    }
  }
  if (request.roles.length === 0) issues.push({ path: 'inherits', message: atLeastOne });
  request.roles.forEach((role, index) => {
    const fault = faultOf(role);
    if (fault) issues.push({ path: `inherits[${index}]`, message: fault });
  });
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, accesses: [...new Set(request.roles)].map(accessOf) };
}
