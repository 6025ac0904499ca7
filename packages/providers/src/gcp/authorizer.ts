import { OtherTarget } from '../errors.js';
import type { Authorizer, Pin } from '../port.js';
import { readAccess } from './access.js';
import type { GcpConfig } from './config.js';
import { createGroupAccess } from './groups.js';
import { type GoogleClients, type KindOfAccess, target } from './kind.js';
import { createRoleAccess } from './roles.js';

/** Creates the authorizer for conditional bindings of roles and for memberships of groups. */
export function createAuthorizer(config: GcpConfig, clients: GoogleClients, now: () => number): Authorizer {
  const roles = createRoleAccess(config, clients);
  const groups = createGroupAccess(config, clients, now);

  /** Returns the kind of an entitlement, by its pin. Throws `OtherTarget` when it was granted at another target. */
  function kindOf({ target: place, subject }: Pin): KindOfAccess {
    if (place !== target) throw new OtherTarget();
    return typeof subject === 'object' && subject !== null && 'group' in subject ? groups : roles;
  }

  return {
    // Google states that changes take seven minutes or longer for policies, and hours for groups.
    residual: 'PT6H',
    residualOf: (access) => ('group' in access ? 'PT6H' : 'PT7M'),
    leavesBehind:
      'Credentials of other accounts that the holder read or created stay valid, and operations that the holder started continue.',
    knows: true,
    target: async () => target,
    async pin(named, signal) {
      const kind = 'group' in readAccess(named) ? groups : roles;
      const subject = await kind.pin(named, signal);
      return subject === null ? null : { target, subject };
    },
    aliases: async (pin, signal) => (await kindOf(pin).aliases?.(pin, signal)) ?? [],
    holds: async (entitlement, signal) => kindOf(entitlement.pin).holds(entitlement, signal),
    ensurePresent: async (entitlement, until, signal) =>
      kindOf(entitlement.pin).ensurePresent(entitlement, until, signal),
    ensureAbsent: async (entitlement, signal) => kindOf(entitlement.pin).ensureAbsent(entitlement, signal),
    async *list(signal) {
      yield* roles.list(signal);
      yield* groups.list(signal);
    },
    // Google has more roles than a list can show, and people request roles of the catalog, which name Google's roles.
    roles: async () =>
      config.groups.map((group) => ({ name: `group/${group}`, arn: `group/${group}`, description: '' })),
    permissions: async () => [],
  };
}
