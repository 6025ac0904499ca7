import type { Connector } from '../port.js';
import { type OidcConfig, oidcConfig } from './config.js';

/** The connector for any identity provider with OpenID Connect and discovery. */
export const oidcConnector: Connector<OidcConfig> = {
  type: 'oidc',
  description: 'OpenID Connect: signs people in and reads their groups',
  capabilities: ['authenticator'],
  config: oidcConfig,
  create: async (config) => (await import('./open.js')).openOidc(config),
};
