import type { Connector, Json } from '../port.js';
import { planAccesses } from './access.js';
import { type GithubConfig, githubConfig } from './config.js';

/** The connector for GitHub: teams, roles in repositories and organization roles, as a GitHub App. */
export const githubConnector: Connector<GithubConfig> = {
  type: 'github',
  description: 'GitHub: teams, roles in repositories and roles of the organization',
  capabilities: ['authorizer', 'identities'],
  config: githubConfig,
  plan: planAccesses,
  address: ({ url, installation_id }): Json => ({ url, installation: installation_id }),
  create: async (config, tools) => (await import('./open.js')).openGithub(config, tools),
};
