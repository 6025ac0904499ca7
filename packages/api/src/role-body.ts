import { AccessError, type ActorContext, type ErrorIssue, getRole } from '@belay/core';
import { z } from 'zod';
import { duration, name, names, remark } from './text.js';

/** A Role as a client may send it back: the documented fields and the ones we publish beside them, nothing else. */
export const roleBody = z.strictObject({
  name,
  description: remark.optional(),
  providers: names.optional(),
  workflows: names.optional(),
  enabled: z.boolean().optional(),
  permissions: z.strictObject({ users: names.optional(), groups: names.optional() }).optional(),
  max_duration: duration.optional(),
  default_duration: duration.optional(),
  reason: z.strictObject({ required: z.boolean(), pattern: z.string().optional() }).optional(),
  inherits: names.optional(),
  grants: z.array(z.unknown()).optional(),
});
export type RoleBody = z.infer<typeof roleBody>;

/**
 * The name of the role that a request means (design §14.4). The server's own definition is what counts; a body that asks
 * for more than it is refused with one issue per field. Throws `not_found` for an unknown role, `invalid` for a wider one.
 */
export async function resolveRole(ctx: ActorContext, role: string | RoleBody): Promise<string> {
  if (typeof role === 'string') return role;
  const defined = await getRole(ctx, { role: role.name });
  const issues = wider(role, defined);
  if (issues.length > 0) throw new AccessError('invalid', 'The role asks for more than it is defined as', { issues });
  return role.name;
}

type DefinedRole = Awaited<ReturnType<typeof getRole>>;

function wider(asked: RoleBody, defined: DefinedRole): ErrorIssue[] {
  const issues: ErrorIssue[] = [];
  const refuse = (path: string): void => {
    issues.push({ path: `role.${path}`, message: 'is more than the role is defined as' });
  };
  const within = (
    path: string,
    items: readonly unknown[] | undefined,
    bounds: readonly unknown[] | undefined,
  ): void => {
    if (items === undefined) return;
    const known = new Set((bounds ?? []).map(canonical));
    items.forEach((item, index) => {
      if (!known.has(canonical(item))) refuse(`${path}.${index}`);
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
  if (asked.reason !== undefined && canonical(asked.reason) !== canonical(defined.reason)) refuse('reason');
  return issues;
}

/** JSON with its keys in order, so that two equal values look alike. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
