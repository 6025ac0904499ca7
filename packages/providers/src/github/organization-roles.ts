import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { path } from '../http/client.js';
import type { Api } from './api.js';
import type { GithubConfig } from './config.js';
import { accountSchema, type People } from './people.js';
import type { Place } from './place.js';

const roleSchema = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string().nullish(),
  permissions: z.array(z.string()).default([]),
  base_role: z.string().nullish(),
});
type Role = z.infer<typeof roleSchema>;
export const rolesSchema = z.object({ roles: z.array(roleSchema) });

const holderSchema = accountSchema.extend({ assignment: z.string().nullish() });

/** Creates the part that assigns roles of the organization to people directly. */
export function createOrganizationRoles(config: GithubConfig, api: Api, people: People): Place {
  const pathOf = async (signal: AbortSignal) => `${(await api.organization(signal)).at}/organization-roles`;

  async function readHolders(role: number, signal: AbortSignal) {
    const holders = await api.list((await pathOf(signal)) + path`/${role}/users`, holderSchema, signal);
    if (holders === null) await api.confirmSight('members', signal);
    return holders ?? [];
  }

  const findHolder = async (role: number, user: number, signal: AbortSignal) =>
    (await readHolders(role, signal)).find(({ id }) => id === user);

  /** A role that a person has by a team is standing access of the team, which Belay does not change. */
  const isDirect = (holder: z.infer<typeof holderSchema> | undefined) =>
    holder !== undefined && holder.assignment !== 'indirect';

  async function remove(role: number, login: string, signal: AbortSignal): Promise<void> {
    const at = (await pathOf(signal)) + path`/users/${login}/${role}`;
    await api.send({ method: 'DELETE', path: at, accept: [404] }, signal);
  }

  return {
    async find(name, signal) {
      const { roles } = await api.ask({ method: 'GET', path: await pathOf(signal), schema: rolesSchema }, signal);
      return roles.find((role) => role.name === name)?.id ?? null;
    },

    holds: async (role, user, signal) => isDirect(await findHolder(role, user, signal)),

    async grant(role, user, _target, signal) {
      const at = await pathOf(signal);
      const found = await api.find({ method: 'GET', path: at + path`/${role}`, schema: roleSchema }, signal);
      if (!found) throw new Terminal('The organization role does not exist');
      if (!config.allow_privileged_roles && isPrivileged(found)) {
        throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
      }
      const account = await people.requireMember(user, signal);
      const held = await findHolder(role, user, signal);
      if (isDirect(held)) return;
      if (held) throw new Terminal('The GitHub account has the organization role by a team');
      await api.send({ method: 'PUT', path: at + path`/users/${account.login}/${role}` }, signal);
      await people.confirmLogin(account, signal).catch(async (error) => {
        await remove(role, account.login, signal);
        throw error;
      });
    },

    async revoke(role, user, signal) {
      const account = await people.read(user, signal);
      if (account) await remove(role, account.login, signal);
      const listed = await findHolder(role, user, signal);
      if (!listed || !isDirect(listed)) return;
      await remove(role, listed.login, signal);
      if (isDirect(await findHolder(role, user, signal))) {
        throw new Retryable('The person still has the organization role');
      }
    },

    members: async (role, signal) => (await readHolders(role, signal)).filter(isDirect),
  };
}

/**
 * Returns whether a role has `admin` on repositories, or an organization permission that does not begin with `read_`.
 */
function isPrivileged({ permissions, base_role: base }: Role): boolean {
  return base === 'admin' || permissions.some((permission) => !permission.startsWith('read_'));
}
