import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Access, Authorizer, EntitlementRef, Pin, ProviderRole } from '../port.js';
import { repositoryRoles, type Target, targetOf } from './access.js';
import type { Api } from './api.js';
import type { GithubConfig } from './config.js';
import { createOrganizationRoles, rolesSchema } from './organization-roles.js';
import type { People } from './people.js';
import type { Member, Place } from './place.js';
import { createRepositories } from './repositories.js';
import { createTeams } from './teams.js';

const pinned = z.strictObject({ user: z.int(), kind: z.enum(['team', 'repo-role', 'org-role']), id: z.int() });
type Subject = z.infer<typeof pinned>;

/** Creates the port's `Authorizer` for teams, organization roles and direct permissions in repositories. */
export function createAuthorizer(config: GithubConfig, api: Api, people: People): Authorizer {
  const places: Record<Target['kind'], Place> = {
    team: createTeams(api, people),
    'repo-role': createRepositories(config, api, people) as Place,
    'org-role': createOrganizationRoles(config, api, people),
  };

  async function readPin(entitlement: EntitlementRef, target: Target, signal: AbortSignal): Promise<Pin | null> {
    const user = numberOf(entitlement.identity);
    const { fingerprint } = await api.organization(signal);
    const id = await places[target.kind].find(target.name, signal);
    if (user === undefined || id === null) return null;
    return { target: fingerprint, subject: { user, kind: target.kind, id } };
  }

  /** Returns the numbers of an entitlement: those of its pin, or else found by its names. Throws `OtherTarget` at another target. */
  async function resolve(entitlement: EntitlementRef, target: Target, signal: AbortSignal): Promise<Subject | null> {
    const pin = entitlement.pin ?? (await readPin(entitlement, target, signal));
    if (!pin) return null;
    if (pin.target !== (await api.organization(signal)).fingerprint) throw new OtherTarget();
    const { data } = pinned.safeParse(pin.subject);
    if (data?.kind !== target.kind) throw new Terminal('The stored identifiers are not those of this kind of access');
    return data;
  }

  async function* listExclusive(name: string, signal: AbortSignal): AsyncGenerator<EntitlementRef> {
    const kind = kindOf(name);
    const id = await places[kind].find(kind === 'repo-role' ? name : name.slice(kind.length + 1), signal);
    if (id === null)
      throw new Terminal('exclusive: a team, a role or a repository of this list does not exist in the organization');
    const { fingerprint } = await api.organization(signal);
    for (const member of await places[kind].members(id, signal)) {
      const subject = { user: member.id, kind, id };
      yield {
        id: '',
        identity: String(member.id),
        access: accessOf(name, kind, member),
        pin: { target: fingerprint, subject },
      };
    }
  }

  async function* listAll(signal: AbortSignal): AsyncGenerator<EntitlementRef> {
    for (const name of config.exclusive) yield* listExclusive(name, signal);
  }

  return {
    // GitHub checks membership and permissions at each request, including requests of git.
    residual: 'PT0S',
    leavesBehind:
      'Clones remain, and so does what the holder put into a repository or its settings: webhooks, workflows, and keys that a role permits them to add.',
    knows: true,

    target: async (signal) => (await api.organization(signal)).fingerprint,

    async pin(entitlement, signal) {
      const pin = await readPin(entitlement, targetOf(entitlement.access), signal);
      if (!pin) return null;
      const account = await people.read(numberOf(entitlement.identity) ?? 0, signal);
      return account ? pin : null;
    },

    async holds(entitlement, signal) {
      const target = targetOf(entitlement.access);
      const subject = await resolve(entitlement, target, signal);
      return subject !== null && places[target.kind].holds(subject.id, subject.user, signal);
    },

    async ensurePresent(entitlement, _until, signal) {
      const target = targetOf(entitlement.access);
      const subject = await resolve(entitlement, target, signal);
      if (!subject) throw new Terminal('The GitHub account, or the team, the role or the repository, does not exist');
      await places[target.kind].grant(subject.id, subject.user, target, signal);
    },

    async ensureAbsent(entitlement, signal) {
      const target = targetOf(entitlement.access);
      const subject = await resolve(entitlement, target, signal);
      if (subject) await places[target.kind].revoke(subject.id, subject.user, signal);
    },

    // Access at GitHub has no mark of Belay, so only access in `exclusive` can be distinguished from standing access.
    ...(config.exclusive.length > 0 ? { list: listAll } : {}),

    roles: (signal) => listRoles(api, signal),

    // Permissions are in roles (see planAccesses), so none can be requested alone.
    permissions: async () => [],
  };
}

/** Returns GitHub's number of an account, or undefined for a text that is not one. */
export function numberOf(identity: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(identity) ? Number(identity) : undefined;
}

function kindOf(name: string): Target['kind'] {
  if (name.startsWith('team/')) return 'team';
  return name.startsWith('org-role/') ? 'org-role' : 'repo-role';
}

function accessOf(name: string, kind: Target['kind'], { role }: Member): Access {
  return kind === 'repo-role' ? { role: `repo-role/${role}`, repository: name } : { role: name };
}

const teamSchema = z.object({ slug: z.string(), name: z.string(), description: z.string().nullish() });

async function listRoles(api: Api, signal: AbortSignal): Promise<ProviderRole[]> {
  const { at } = await api.organization(signal);
  const teams = (await api.list(`${at}/teams`, teamSchema, signal)) ?? [];
  // Reading organization roles needs a permission that an App may lack when it grants only teams.
  const answer = await api.send({ method: 'GET', path: `${at}/organization-roles`, accept: [403, 404] }, signal);
  const { roles } = rolesSchema.safeParse(answer.body).data ?? { roles: [] };
  const named = [
    ...teams.map(({ slug, description }) => ({ name: `team/${slug}`, description: description ?? '' })),
    ...Object.keys(repositoryRoles).map((role) => ({ name: `repo-role/${role}`, description: '' })),
    ...roles.map(({ name, description }) => ({ name: `org-role/${name}`, description: description ?? '' })),
  ];
  return named.map(({ name, description }) => ({ name, arn: name, description }));
}
