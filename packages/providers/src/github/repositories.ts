import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { path } from '../http/client.js';
import { type RepositoryRole, repositoryRoles, type Target } from './access.js';
import type { Api } from './api.js';
import type { GithubConfig } from './config.js';
import { accountSchema, type People } from './people.js';
import type { Member, Place } from './place.js';

const repositorySchema = z.object({ id: z.int(), owner: z.object({ id: z.int() }) });
const collaboratorSchema = accountSchema.extend({ role_name: z.string() });
const invitationSchema = z.object({ id: z.int(), invitee: z.object({ id: z.int() }).nullable() });

type RepositoryTarget = Extract<Target, { kind: 'repo-role' }>;
const ranks = Object.keys(repositoryRoles);

/** Creates the part that grants direct permissions in repositories. A person has at most one in each repository. */
export function createRepositories(config: GithubConfig, api: Api, people: People): Place<RepositoryTarget> {
  const pathOf = (repository: number) => path`/repositories/${repository}`;

  /**
   * Returns false for a repository that the configuration lists as deleted, where GitHub says so too: the App is installed for all
   * repositories, and does not see it. Throws `Retryable` for another one that cannot be seen: it may have been removed from the App's
   * installation while its collaborators remain (decision 0117).
   */
  async function isThere(repository: number, signal: AbortSignal): Promise<boolean> {
    const { id } = await api.organization(signal);
    const found = await api.find({ method: 'GET', path: pathOf(repository), schema: repositorySchema }, signal);
    if (found?.owner.id === id) return true;
    const unseen = `The GitHub App cannot see repository ${repository} in the organization any more`;
    if (!config.deleted_repositories.includes(repository))
      throw new Retryable(`${unseen}: add it to the installation, or to deleted_repositories`);
    if (found)
      throw new Retryable(`Repository ${repository} is in deleted_repositories, and has another owner at GitHub`);
    if ((await api.installation(signal)).repository_selection === 'all') return false;
    throw new Retryable(
      `${unseen}, which does not say that it was deleted: install the App for all repositories until the access is revoked`,
    );
  }

  async function readDirect(repository: number, signal: AbortSignal): Promise<Member[]> {
    const at = `${pathOf(repository)}/collaborators?affiliation=direct`;
    const found = await api.list(at, collaboratorSchema, signal);
    if (!found) throw new Retryable('GitHub returns no collaborators of the repository');
    return found.map(({ id, login, role_name: role }) => ({ id, login, role }));
  }

  const findDirect = async (repository: number, user: number, signal: AbortSignal) =>
    (await readDirect(repository, signal)).find(({ id }) => id === user);

  async function withdrawInvitations(repository: number, user: number, signal: AbortSignal): Promise<void> {
    const at = `${pathOf(repository)}/invitations`;
    const open = (await api.list(at, invitationSchema, signal)) ?? [];
    for (const { id } of open.filter(({ invitee }) => invitee?.id === user)) {
      await api.send({ method: 'DELETE', path: at + path`/${id}`, accept: [404] }, signal);
    }
  }

  async function remove(repository: number, login: string, signal: AbortSignal): Promise<void> {
    const at = pathOf(repository) + path`/collaborators/${login}`;
    await api.send({ method: 'DELETE', path: at, accept: [404] }, signal);
  }

  return {
    async find(name, signal) {
      const [owner = '', repository = ''] = name.split('/');
      const call = { method: 'GET' as const, path: path`/repos/${owner}/${repository}`, accept: [301, 404] };
      const answer = await api.send(call, signal);
      if (answer.status === 301) throw new Terminal('The repository has another name now');
      const found = answer.status === 404 ? undefined : repositorySchema.safeParse(answer.body).data;
      return found && found.owner.id === (await api.organization(signal)).id ? found.id : null;
    },

    async holds(repository, user, signal) {
      if (!(await isThere(repository, signal))) return false;
      return (await findDirect(repository, user, signal)) !== undefined;
    },

    async grant(repository, user, { role }, signal) {
      if (role === 'admin' && !config.allow_privileged_roles) {
        throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
      }
      if (!(await isThere(repository, signal))) throw new Terminal('The repository does not exist in the organization');
      const account = await people.requireMember(user, signal);
      const held = await findDirect(repository, user, signal);
      if (held) return refuseLess(held, role);
      const at = pathOf(repository) + path`/collaborators/${account.login}`;
      const json = { permission: repositoryRoles[role] };
      const { status } = await api.send({ method: 'PUT', path: at, json }, signal);
      if (status === 201) {
        // GitHub sent an invitation, because the person left the organization at the same time.
        await withdrawInvitations(repository, user, signal);
        throw new Terminal('The GitHub account is not an active member of the organization');
      }
      await people.confirmLogin(account, signal).catch(async (error) => {
        await remove(repository, account.login, signal);
        throw error;
      });
    },

    async revoke(repository, user, signal) {
      if (!(await isThere(repository, signal))) return;
      const account = await people.read(user, signal);
      if (account) await remove(repository, account.login, signal);
      await withdrawInvitations(repository, user, signal);
      const listed = await findDirect(repository, user, signal);
      if (!listed) return;
      await remove(repository, listed.login, signal);
      if (await findDirect(repository, user, signal)) {
        throw new Retryable('The person still has a direct permission in the repository');
      }
    },

    members: readDirect,
  };
}

/**
 * Throws `Terminal` for a direct permission that is lower or custom: raising it would change what an owner, or the holder, made of it.
 * A higher one is left as well; the revocation removes any.
 */
function refuseLess({ role = '' }: Member, wanted: RepositoryRole): void {
  if (ranks.indexOf(role) < ranks.indexOf(wanted)) {
    throw new Terminal('The GitHub account has another direct permission in the repository');
  }
}
