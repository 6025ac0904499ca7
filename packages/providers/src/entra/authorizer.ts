import { OtherTarget, Terminal } from '../errors.js';
import type { Authorizer, Pin } from '../port.js';
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

  /** Returns the identifiers of an entitlement. Throws `OtherTarget` when it is pinned in another tenant. */
  function readPin(pin: Pin): Subject {
    if (pin.target !== target) throw new OtherTarget();
    const subject = subjectSchema.safeParse(pin.subject);
    if (subject.success) return subject.data;
    throw new Terminal('The stored identifiers are not those of an access at Entra');
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

    async pin(named, signal) {
      const access = readAccess(named);
      const kind = kindOf(access);
      const user = await findUser(api, named.identity, signal);
      const found = user && (await places[kind].find(access, signal));
      return (
        user && found && { target, subject: { kind, user: user.id, ...found, scheduled: config.pim.includes(kind) } }
      );
    },

    async aliases(pin, signal) {
      const subject = readPin(pin);
      return (await places[subject.kind].aliases?.(subject, signal)) ?? [];
    },

    async holds({ id, pin }, signal) {
      const subject = readPin(pin);
      return wayOf(subject).holds(subject, id, signal);
    },

    async ensurePresent({ id, pin }, until, signal) {
      const subject = readPin(pin);
      await places[subject.kind].check(subject, signal);
      await checkUser(subject.user, signal);
      await wayOf(subject).ensurePresent(subject, id, until, signal);
    },

    async ensureAbsent({ id, pin }, signal) {
      const subject = readPin(pin);
      await wayOf(subject).ensureAbsent(subject, id, signal);
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
