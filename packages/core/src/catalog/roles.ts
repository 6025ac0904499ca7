import { formatDuration } from '@belay/contract/durations';
import { AccessError, notFound } from '@belay/contract/errors';
import type { PageOf } from '@belay/contract/paging';
import { pageOf } from '@belay/contract/paging';
import type { Role } from '@belay/contract/roles';
import { breatheBy } from '../breathe.js';
import { can } from '../can.js';
import type { CompiledRole } from '../configuration/catalog.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore } from '../context.js';
import { rolesConcerning } from './audiences.js';

export interface RoleFilter extends PageOf {
  provider?: string[] | undefined;
  /** The results of a search, in its order; may contain roles that the caller may not see. */
  found?: { q: string; roles: readonly CompiledRole[] };
}

/**
 * Returns the enabled roles that the caller may see and request, keyed by name (GET /roles); `next` when there are more.
 * Describes them in slices, because there may be ten thousand.
 */
export async function listRoles(ctx: ActorStore, { provider, found, ...asked }: RoleFilter) {
  const breathe = breatheBy(() => ctx.clock().getTime());
  const catalog = ctx.catalog.current();
  const wanted = provider ?? [];
  const { page, next } = pageOf(
    found?.roles ?? rolesConcerning(ctx.actor, catalog),
    asked,
    ['roles', catalog.version, wanted, ...(found === undefined ? [] : [found.q])],
    (role) =>
      can(ctx.actor, 'view', { role }) && (wanted.length === 0 || wanted.some((id) => role.providers.includes(id))),
  );
  const roles: [name: string, { role: Role }][] = [];
  for (const role of page) {
    roles.push([role.name, { role: describeRole(role) }]);
    await breathe();
  }
  return { version: versionText(catalog.version), roles: Object.fromEntries(roles), next };
}

/**
 * Returns one complete role (GET /role/{role}). For a role that the caller may not see, throws `not_found`, or, when the role is
 * discoverable, `forbidden` with what they must do to be able to request it.
 */
export function getRole(ctx: ActorStore, input: { role: string }): Role {
  const role = ctx.catalog.current().roles.get(input.role);
  if (role && can(ctx.actor, 'view', { role })) return describeRole(role);
  throw notReached(ctx, input.role);
}

/**
 * Returns the error for a caller who may not request a role: `not_found`, or, when the role is discoverable,
 * `forbidden` with what they must do to be able to request it.
 */
export function notReached(ctx: ActorStore, name: string): AccessError {
  const role = ctx.catalog.current().roles.get(name);
  return role?.enabled && role.definition.discoverable && ctx.actor.kind === 'user'
    ? unreached(role)
    : notFound(`Role ${name}`);
}

/** Returns the error with the groups that may request a discoverable role; people are not named. */
function unreached({ name, definition }: CompiledRole): AccessError {
  const groups = definition.permissions?.groups ?? [];
  const way =
    groups.length === 0 ? 'be named in its configuration' : `become a member of the group ${groups.join(' or ')}`;
  const what = definition.description === '' ? '' : ` (${definition.description})`;
  return new AccessError(
    'forbidden',
    `You cannot request ${name}${what} yet. To request it, you must ${way}. Contact an operator of this server.`,
  );
}

const described = new WeakMap<CompiledRole, Role>();

/** Returns the description of a role. The description is created once, because a compiled role never changes. */
export function describeRole(role: CompiledRole): Role {
  const ready = described.get(role);
  if (ready) return ready;
  const { permissions } = role.definition;
  const details: Role = {
    name: role.name,
    description: role.definition.description,
    providers: role.providers,
    workflows: role.workflows,
    enabled: role.enabled,
    ...(permissions?.users || permissions?.groups
      ? {
          permissions: {
            ...(permissions.users ? { users: permissions.users } : {}),
            ...(permissions.groups ? { groups: permissions.groups } : {}),
          },
        }
      : {}),
    max_duration: formatDuration(role.maxDuration),
    default_duration: formatDuration(role.defaultDuration),
    reason: { required: role.reason.required, ...(role.reason.pattern ? { pattern: role.reason.pattern.source } : {}) },
    inherits: role.definition.inherits,
    grants: [...role.accesses].flatMap(([provider, accesses]) => accesses.map((access) => ({ provider, access }))),
    ...(role.breakGlass === undefined ? {} : { break_glass: true }),
  };
  described.set(role, details);
  return details;
}
