import type { Connector } from '../port.js';
import { type OktaConfig, oktaConfig } from './config.js';
import { planMemberships } from './plan.js';

/** The connector for Okta: membership of Okta's own groups. */
export const oktaConnector: Connector<OktaConfig> = {
  type: 'okta',
  description: 'Okta: membership of groups',
  capabilities: ['authorizer', 'identities'],
  config: oktaConfig,
  plan: planMemberships,
  address: ({ url }) => new URL(url).origin,
  create: async (config, tools) => (await import('./open.js')).openOkta(config, tools),
};
