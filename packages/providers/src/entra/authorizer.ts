import { OtherTarget, Terminal } from '../errors.js';
import type { Authorizer, EntitlementRef } from '../port.js';
import { type Kind, kindOf, readAccess } from './access.js';
import type { Api } from './api.js';
import { createAzureRoles } from './azure-roles.js';
import type { EntraConfig } from './config.js';
import { createDirectoryRoles } from './directory-roles.js';
import { createGroups } from './groups.js';
import { faultOfUser, findUser } from './identities.js';
import { type Place, type Subject, subjectSchema } from './place.js';
import { createUnsettled } from './unsettled.js';
import { bySchedules, plainly, type Way } from './ways.js';

const kindOfPrefix: Record<string, Kind> = {
  group: 'groups',
  'directory-role': 'directory_roles',
  'azure-role': 'azure_roles',
};

/** Creates the authorizer for memberships of groups, directory roles and roles of Azure. */
export function createAuthorizer(config: EntraConfig, api: Api, now: () => number): Authorizer {
  const target = config.tenant;
  const unsettled = createUnsettled(now);
  const places: Record<Kind, Place> = {
    groups: createGroups(config, api, now),
    directory_roles: createDirectoryRoles(config, api, now),
    azure_roles: createAzureRoles(config, api, now),
  };

  /** Returns the way in which the access was granted: the pin has it, because the configuration may have changed since. */
  function wayOf({ kind, scheduled }: Subject): Way {
    return scheduled ? bySchedules(places[kind], unsettled) : plainly(places[kind], unsettled);
  }

  async function resolve(entitlement: EntitlementRef, signal: AbortSignal): Promise<Subject | null> {
    const access = readAccess(entitlement);
    const kind = kindOf(entitlement.access);
    if (entitlement.pin) {
      if (entitlement.pin.target !== target) throw new OtherTarget();
      const subject = subjectSchema.safeParse(entitlement.pin.subject);
      if (subject.success && subject.data.kind === kind) return subject.data;
      throw new Terminal('The stored identifiers are not those of this kind of access');
    }
    const user = await findUser(api, entitlement.identity, signal);
    const found = user && (await places[kind].find(access, signal));
    return user && found && { kind, user: user.id, ...found, scheduled: config.pim.includes(kind) };
  }

  async function checkUser(id: string, signal: AbortSignal): Promise<void> {
    const user = await api.user(id, signal);
    if (!user) throw new Terminal('The account does not exist at Entra');
    const fault = faultOfUser(user, config.allow_guests);
    if (fault !== undefined) throw new Terminal(fault);
  }

  return {
    residual: config.residual,
    leavesBehind: config.end_sign_ins
      ? 'Access tokens that applications hold stay valid until they expire; what the holder created or read remains.'
      : 'Access tokens and sign-ins of applications stay valid until they expire; what the holder created or read remains.',
    knows: true,
    target: async () => target,

    async pin({ pin: _, ...named }, signal) {
      const subject = await resolve(named, signal);
      return subject && { target, subject };
    },

    async aliases(entitlement, signal) {
      const subject = await resolve(entitlement, signal);
      return (subject && (await places[subject.kind].aliases?.(subject, signal))) ?? [];
    },

    async holds(entitlement, signal) {
      const subject = await resolve(entitlement, signal);
      return subject ? wayOf(subject).holds(subject, entitlement.id, signal) : false;
    },

    async ensurePresent(entitlement, until, signal) {
      const subject = await resolve(entitlement, signal);
      if (!subject) throw new Terminal('The account, or the group or role, does not exist at Entra');
      await places[subject.kind].check(subject, signal);
      await checkUser(subject.user, signal);
      await wayOf(subject).ensurePresent(subject, entitlement.id, until, signal);
    },

    async ensureAbsent(entitlement, signal) {
      const subject = await resolve(entitlement, signal);
      if (!subject) return;
      await wayOf(subject).ensureAbsent(subject, entitlement.id, signal);
      if (config.end_sign_ins) await api.endSignIns(subject.user, signal);
    },

    async *list(signal) {
      const faults: unknown[] = [];
      for (const one of config.exclusive) {
        const [, prefix = '', name = ''] = /^([a-z-]+)\/(.*)$/s.exec(one) ?? [];
        const kind = kindOfPrefix[prefix] ?? 'groups';
        try {
          for await (const { user, identity, access, what, scope, mark } of places[kind].holders(name, signal)) {
            const name = identity ?? (await api.user(user, signal))?.userPrincipalName;
            // A group or an application can hold a role too; only people are listed.
            if (name === undefined) continue;
            const subject = { kind, user, what, scope, scheduled: config.pim.includes(kind) };
            yield { id: mark, identity: name, access: { ...access }, pin: { target, subject } };
          }
        } catch (error) {
          if (!(error instanceof Terminal)) throw error;
          faults.push(error);
        }
      }
      // Thrown last: a group or role that was renamed must not hide the holders of the others.
      if (faults.length > 0) throw faults[0];
    },

    // Entra has more groups than a list can show, and people request roles of the catalog, which name their groups.
    roles: async () =>
      config.directory_roles.map((name) => {
        const role = `directory-role/${name}`;
        return { name: role, arn: role, description: '' };
      }),
    permissions: async () => [],
  };
}
