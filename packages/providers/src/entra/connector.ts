import type { Connector, Json } from '../port.js';
import { kindOf, planAccess } from './access.js';
import { type EntraConfig, entraConfig } from './config.js';

/** The connector for Microsoft Entra ID: groups, directory roles, and roles of Azure. */
export const entraConnector: Connector<EntraConfig> = {
  type: 'entra',
  description: 'Microsoft Entra ID: groups, directory roles, and roles of Azure',
  capabilities: ['authorizer', 'identities'],
  config: entraConfig,
  plan: planAccess,
  address: ({ tenant, endpoints }): Json => ({ tenant, ...endpoints }),
  // Privileged Identity Management accepts no assignment that is shorter.
  expiry: ({ pim }, access) => (pim.includes(kindOf(access)) ? { native: true, minimum: 'PT5M' } : undefined),
  create: async (config, tools) => (await import('./open.js')).openEntra(config, tools),
};
