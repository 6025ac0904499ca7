import { type Front, type GithubOptions, startFront, startGithub } from '@belay/targets';
import { githubConnector, type ProviderClient } from '../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';

/**
 * Returns an organization at GitHub with a team, a repository and an organization role, and clients of the connector.
 */
export async function openOrganization(options: Partial<GithubOptions> = {}) {
  const github = await startGithub({ now: Date.now, ...options });
  const clients: ProviderClient[] = [];
  let made = 0;
  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await github.call('admin', method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, unknown>;
  };
  const names = { team: 'oncall', repository: 'acme/shop', 'org-role': 'all_repo_read' };
  await admin('POST', '/orgs/acme/teams', { name: 'oncall', permission: 'push' });
  const repository = await admin('POST', '/orgs/acme/repos', { name: 'shop', private: true, auto_init: true });
  await admin('PUT', '/orgs/acme/teams/oncall/repos/acme/shop');
  const role = github.world.addOrganizationRole({ name: names['org-role'], base_role: 'read' });
  return {
    github,
    admin,
    names,
    repository: Number(repository.id),
    role,
    idOf: async (login: string) => Number((await admin('GET', `/users/${login}`)).id),
    /** Returns a member of the organization, another one at each call. */
    async person(): Promise<{ login: string; id: number }> {
      made += 1;
      const login = `person-${made}`;
      return { login, id: Number((await admin('GET', `/users/${login}`)).id) };
    },
    /** Returns the connector's configuration for this organization or for a front before it. */
    config: (config: Record<string, unknown> = {}, url = github.url) =>
      githubConnector.config.parse({
        url,
        app_id: github.app.id,
        installation_id: github.app.installation,
        private_key: github.app.privateKey,
        identity: { login: ['sign-in'] },
        ...config,
      }),
    async client(config: Record<string, unknown> = {}, url = github.url, now = Date.now): Promise<ProviderClient> {
      const client = await githubConnector.create(this.config(config, url), { now, log: () => {} });
      clients.push(client);
      return client;
    },
    front: (now = Date.now): Promise<Front> => startFront({ to: github.url, now, inProcess: true }),
    /** Returns everything that people hold in the organization, one line for each. */
    async held(): Promise<string[]> {
      const teams = (await admin('GET', '/orgs/acme/teams?per_page=100')) as unknown as { id: number; slug: string }[];
      const lines: string[] = [];
      for (const { slug } of teams.filter((team) => team.slug !== 'members')) {
        const members = (await admin('GET', `/orgs/acme/teams/${slug}/members?per_page=100`)) as unknown as {
          login: string;
        }[];
        lines.push(...members.map(({ login }) => `${slug} ${login}`));
      }
      return [...lines, ...github.world.direct()].sort();
    },
    async close() {
      for (const client of clients) await client.close();
      await github[Symbol.asyncDispose]();
    },
  };
}

export type Organization = Awaited<ReturnType<typeof openOrganization>>;

export function authorizerOf({ authorizer }: ProviderClient): ByNames {
  if (!authorizer) throw new Error('no authorizer');
  return byNames(authorizer);
}

/** Returns the entitlement of an account, without a pin. */
export function entitlement(id: number, access: NamedEntitlement['access']): NamedEntitlement {
  return { id: `entitlement-${id}-${JSON.stringify(access)}`, identity: String(id), access };
}
