import type { Connector, Json, SharedConnection } from '../port.js';
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
  connection(_config, { access }): SharedConnection {
    const held = readAccess({ access });
    if (!('resource' in held)) return { variables: {} };
    return { variables: { CLOUDSDK_CORE_PROJECT: held.resource.replace(/^projects\//, '') } };
  },
  create: async (config, tools) => (await import('./open.js')).openGcp(config, tools),
};
