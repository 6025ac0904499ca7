import { refuseWhenAborted, untilAborted } from '../abort.js';
import type { ProviderClient } from '../port.js';
import { createAuthenticator } from './authenticator.js';
import type { OidcConfig } from './config.js';
import { toPortError } from './faults.js';
import { createIssuer } from './issuer.js';

/** Opens the client of an issuer. */
export function openOidc(config: OidcConfig): ProviderClient {
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
}
