import type { Connector, Json } from '../port.js';
import { planAccess, readAccess } from './access.js';
import { type GcpConfig, gcpConfig } from './config.js';

/** The connector for Google Cloud: conditional bindings in policies of projects, and memberships of groups. */
export const gcpConnector: Connector<GcpConfig> = {
  type: 'gcp',
  description: 'Google Cloud: roles on projects, and membership of groups',
  capabilities: ['authorizer', 'identities'],
  config: gcpConfig,
  plan: planAccess,
  address: ({ endpoints }): Json => endpoints,
  expiry: ({ group_expiry: ends }, access) => ('group' in access && !ends ? undefined : { native: true }),
  connection(_config, { access }) {
    const held = readAccess({ access });
    const variables: Record<string, string> =
      'resource' in held ? { CLOUDSDK_CORE_PROJECT: held.resource.replace(/^projects\//, '') } : {};
    return variables;
  },
  create: async (config, tools) => (await import('./open.js')).openGcp(config, tools),
};
