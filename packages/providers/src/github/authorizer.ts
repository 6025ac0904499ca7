import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Access, Authorizer, Entitlement, ListedEntitlement, ProviderRole } from '../port.js';
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

  /** Returns the numbers of an entitlement. Throws `OtherTarget` at another organization than the one where it is pinned. */
  async function resolve({ pin }: Entitlement, signal: AbortSignal): Promise<Subject> {
    if (pin.target !== (await api.organization(signal)).fingerprint) throw new OtherTarget();
    const { data } = pinned.safeParse(pin.subject);
    if (!data) throw new Terminal('The stored identifiers are not those of an access at GitHub');
    return data;
  }

  async function* listExclusive(name: string, signal: AbortSignal): AsyncGenerator<ListedEntitlement> {
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

  async function* listAll(signal: AbortSignal): AsyncGenerator<ListedEntitlement> {
    for (const name of config.exclusive) yield* listExclusive(name, signal);
  }

  return {
    // GitHub checks membership and permissions at each request, including requests of git.
    residual: 'PT0S',
    leavesBehind:
      'Clones remain, and so does what the holder put into a repository or its settings: webhooks, workflows, and keys that a role permits them to add.',
    knows: true,

    target: async (signal) => (await api.organization(signal)).fingerprint,

    async pin({ identity, access }, signal) {
      const target = targetOf(access);
      const user = numberOf(identity);
      const { fingerprint } = await api.organization(signal);
      const id = await places[target.kind].find(target.name, signal);
      if (user === undefined || id === null || !(await people.read(user, signal))) return null;
      return { target: fingerprint, subject: { user, kind: target.kind, id } };
    },

    // A person has one direct permission in a repository: the pin is its slot, and the role is its degree.
    degreeOf(access) {
      const target = targetOf(access);
      return target.kind === 'repo-role' ? target.role : undefined;
    },

    async holds(entitlement, signal) {
      const { kind, id, user } = await resolve(entitlement, signal);
      return places[kind].holds(id, user, signal);
    },

    async ensurePresent(entitlement, _until, signal) {
      const { kind, id, user } = await resolve(entitlement, signal);
      const target = targetOf(entitlement.name.access);
      if (target.kind !== kind) throw new Terminal('The access is not of the kind that its stored identifiers have');
      await places[kind].grant(id, user, target, signal);
    },

    async ensureAbsent(entitlement, signal) {
      const { kind, id, user } = await resolve(entitlement, signal);
      await places[kind].revoke(id, user, signal);
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
