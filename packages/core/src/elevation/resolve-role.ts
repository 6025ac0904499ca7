import { canonicalJson } from '@belay/contract/canonical';
import { AccessError, type ErrorIssue } from '@belay/contract/errors';
import type { Role } from '@belay/contract/roles';
import { getRole } from '../catalog/roles.js';
import type { ActorStore } from '../context.js';

/** A Role as a client may send it back: its name, and any of the fields that it read. */
export interface AskedRole {
  name: string;
  description?: string | undefined;
  providers?: string[] | undefined;
  workflows?: string[] | undefined;
  enabled?: boolean | undefined;
  permissions?: { users?: string[] | undefined; groups?: string[] | undefined } | undefined;
  max_duration?: string | undefined;
  default_duration?: string | undefined;
  reason?: { required: boolean; pattern?: string | undefined } | undefined;
  inherits?: string[] | undefined;
  grants?: unknown[] | undefined;
}

/**
 * Returns the name of the role that a request means (docs/interface.md, section 16, rule 4). The server's own
 * definition counts; a body that exceeds it is rejected with one issue per field. Throws `not_found` for an unknown
 * role, `invalid` for a wider one.
 */
export function resolveRole(ctx: ActorStore, role: string | AskedRole): string {
  if (typeof role === 'string') return role;
  const defined = getRole(ctx, { role: role.name });
  const issues = wider(role, defined);
  if (issues.length > 0) throw new AccessError('invalid', 'The request exceeds the definition of the role', { issues });
  return role.name;
}

function wider(asked: AskedRole, defined: Role): ErrorIssue[] {
  const issues: ErrorIssue[] = [];
  const refuse = (path: string): void => {
    issues.push({ path: `role.${path}`, message: 'exceeds the definition of the role' });
  };
  const within = (
    path: string,
    items: readonly unknown[] | undefined,
    bounds: readonly unknown[] | undefined,
  ): void => {
    if (items === undefined) return;
    const known = new Set((bounds ?? []).map(canonicalJson));
    items.forEach((item, index) => {
      if (!known.has(canonicalJson(item))) refuse(`${path}[${index}]`);
    });
  };
  within('providers', asked.providers, defined.providers);
  within('workflows', asked.workflows, defined.workflows);
  within('inherits', asked.inherits, defined.inherits);
  within('grants', asked.grants, defined.grants);
  within('permissions.users', asked.permissions?.users, defined.permissions?.users);
  within('permissions.groups', asked.permissions?.groups, defined.permissions?.groups);
  for (const field of ['max_duration', 'default_duration'] as const) {
    if (asked[field] !== undefined && asked[field] !== defined[field]) refuse(field);
  }
  if (asked.enabled === true && !defined.enabled) refuse('enabled');
  if (asked.reason !== undefined && canonicalJson(asked.reason) !== canonicalJson(defined.reason)) refuse('reason');
  return issues;
}
