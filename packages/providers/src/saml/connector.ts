import { refuseWhenAborted, untilAborted } from '../abort.js';
import { Retryable } from '../errors.js';
import type { ReadyConnector } from '../port.js';
import { within } from '../within.js';
import { createAuthenticator } from './authenticator.js';
import { type SamlConfig, samlConfig } from './config.js';

const requestMilliseconds = 10_000;

/** The connector for an identity provider with SAML 2.0. */
export const samlConnector: ReadyConnector<SamlConfig> = {
  type: 'saml',
  description: 'SAML 2.0: signs people in and reads their groups',
  capabilities: ['authenticator'],
  config: samlConfig,
  create(config) {
    return {
      authenticator: createAuthenticator(config),
      async check(signal) {
        refuseWhenAborted(signal);
        const limited = within(signal, requestMilliseconds);
        // Some providers respond with an error, because this is not a sign-in. Any response shows that the provider is
        // reachable.
        const asked = fetch(config.entry_point, { redirect: 'manual', signal: limited });
        await untilAborted(
          asked.then((response) => response.body?.cancel()),
          signal,
        ).catch((cause: unknown) => {
          throw new Retryable('The identity provider cannot be reached', { cause });
        });
      },
      close: async () => {},
    };
  },
};
