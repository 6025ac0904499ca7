import type { Connector, Json, SharedConnection } from '../port.js';
import { kindOf, planAccess, readAccess } from './access.js';
import { type EntraConfig, entraConfig } from './config.js';
import { scopesAround } from './names.js';

/** The connector for Microsoft Entra ID: groups, directory roles, and roles of Azure. */
export const entraConnector: Connector<EntraConfig> = {
  type: 'entra',
  description: 'Microsoft Entra ID: groups, directory roles, and roles of Azure',
  capabilities: ['authorizer', 'identities'],
  config: entraConfig,
  plan: planAccess,
  containers: scopesAround,
  address: ({ tenant, endpoints }): Json => ({ tenant, ...endpoints }),
  // Privileged Identity Management rejects assignments that are shorter.
  expiry: ({ pim }, access) => (pim.includes(kindOf(access)) ? { native: true, minimum: 'PT5M' } : undefined),
  connection(_config, { access }): SharedConnection {
    const held = readAccess({ access });
    const [, subscription, group] =
      /^\/subscriptions\/([^/]+)(?:\/resourcegroups\/([^/]+))?/i.exec('scope' in held ? held.scope : '') ?? [];
    return {
      variables: {
        ...(subscription !== undefined && { AZURE_SUBSCRIPTION_ID: subscription, ARM_SUBSCRIPTION_ID: subscription }),
        ...(group !== undefined && { AZURE_DEFAULTS_GROUP: group }),
      },
    };
  },
  create: async (config, tools) => (await import('./open.js')).openEntra(config, tools),
};
