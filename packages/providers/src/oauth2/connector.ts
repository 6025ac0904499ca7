import { refuseWhenAborted, untilAborted } from '../abort.js';
import type { ReadyConnector } from '../port.js';
import { createAuthenticator } from './authenticator.js';
import { type OAuth2Config, oauth2Config } from './config.js';
import { toPortError } from './faults.js';
import { knock } from './requests.js';

/** The connector for an identity provider with OAuth 2.0 but no OpenID Connect, such as GitHub. */
export const oauth2Connector: ReadyConnector<OAuth2Config> = {
  type: 'oauth2',
  description: 'OAuth 2.0: signs people in at providers without OpenID Connect (GitHub)',
  capabilities: ['authenticator'],
  config: oauth2Config,
  create(config) {
    return {
      authenticator: createAuthenticator(config),
      async check(signal) {
        refuseWhenAborted(signal);
        try {
          await untilAborted(knock(config.authorization_endpoint, signal), signal);
        } catch (error) {
          throw toPortError(error);
        }
      },
      close: async () => {},
    };
  },
};
