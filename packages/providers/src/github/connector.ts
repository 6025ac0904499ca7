import type { Connector, Json, SharedConnection } from '../port.js';
import { planAccesses, targetOf } from './access.js';
import { type GithubConfig, githubConfig } from './config.js';

/** The connector for GitHub: teams, roles in repositories and organization roles, as a GitHub App. */
export const githubConnector: Connector<GithubConfig> = {
  type: 'github',
  description: 'GitHub: teams, roles in repositories and roles of the organization',
  capabilities: ['authorizer', 'identities'],
  config: githubConfig,
  plan: planAccesses,
  address: ({ url, installation_id }): Json => ({ url, installation: installation_id }),
  connection({ url }, { access }): SharedConnection {
    const { kind, name } = targetOf(access);
    const { hostname } = new URL(url);
    // A GitHub Enterprise Server has its API under its own name; github.com and tenants of ghe.com have it under api.
    const host = /(^|\.)(github|ghe)\.com$/.test(hostname) ? hostname.replace(/^api\./, '') : hostname;
    return { variables: { GH_HOST: host, ...(kind === 'repo-role' && { GH_REPO: name }) } };
  },
  create: async (config, tools) => (await import('./open.js')).openGithub(config, tools),
};
