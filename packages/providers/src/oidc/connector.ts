import { refuseWhenAborted, untilAborted } from '../abort.js';
import type { ReadyConnector } from '../port.js';
import { createAuthenticator } from './authenticator.js';
import { type OidcConfig, oidcConfig } from './config.js';
import { toPortError } from './faults.js';
import { createIssuer } from './issuer.js';

/** Returns the connector for any identity provider with OpenID Connect and discovery. */
export const oidcConnector: ReadyConnector<OidcConfig> = {
  type: 'oidc',
  description: 'OpenID Connect: signs people in and reads their groups',
  capabilities: ['authenticator'],
  config: oidcConfig,
  create(config) {
    const issuer = createIssuer(config);
    return {
      authenticator: createAuthenticator(config, issuer),
      async check(signal) {
        refuseWhenAborted(signal);
        try {
          await untilAborted(issuer.refresh(), signal);
        } catch (error) {
          throw toPortError(error);
        }
      },
      close: async () => {},
    };
  },
};
