import { guardBy } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import type { Authenticator } from '../port.js';
import { readAssertion } from './assertion.js';
import type { SamlConfig } from './config.js';
import { readPerson } from './person.js';
import { requirePlainXml } from './plain-xml.js';

/** Stops when the signal aborts, and converts the library's errors to errors of the port. */
const guarded = guardBy(async (error) => {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const { isRefusal } = await load();
  if (isRefusal(error)) {
    return new Terminal('The identity provider denied the sign-in', { cause: error });
  }
  return new Terminal("The identity provider's response failed validation", { cause: error });
});

/** Loads node-saml with its parsers, which a server without a SAML provider does not need. */
const load = () => import('./service.js');

/**
 * Creates the authenticator for web browser single sign-on of SAML 2.0 (Profiles, 4.1): our request by redirect, the
 * response by post. It accepts only a response to a request of ours; core makes sure that it is used once, because a
 * flow has one response.
 */
export function createAuthenticator(config: SamlConfig): Authenticator {
  return {
    issuer: config.idp_entity_id,
    answersBy: 'form',

    authorizationUrl: ({ redirectUri, nonce, state }, signal) =>
      guarded(signal, async () => {
        const { serviceFor } = await load();
        const service = serviceFor(config, { redirectUri, requestId: requestIdOf(nonce) });
        return new URL(await service.getAuthorizeUrlAsync(state, undefined, {}));
      }),

    exchange: (currentUrl, expected, signal) =>
      guarded(signal, async () => {
        const { searchParams } = currentUrl;
        const [response, ...others] = searchParams.getAll('SAMLResponse');
        if (!response || others.length > 0 || searchParams.getAll('state').join() !== expected.state) {
          throw new Terminal('The response does not belong to this sign-in');
        }
        requirePlainXml(response);
        const { serviceFor } = await load();
        const requestId = requestIdOf(expected.nonce);
        const service = serviceFor(config, { redirectUri: expected.redirectUri, requestId });
        const { profile } = await service.validatePostResponseAsync({ SAMLResponse: response });
        const assertion = readAssertion(profile?.getAssertion?.(), {
          idpEntityId: config.idp_entity_id,
          recipient: expected.redirectUri,
          requestId,
        });
        const ends = assertion.endsAt === undefined ? {} : { endsAt: assertion.endsAt };
        return { ...readPerson(config, assertion), ...ends, tokens: {} };
      }),

    async metadata(redirectUri) {
      const { serviceFor } = await load();
      const service = serviceFor(config, { redirectUri, requestId: '_metadata' });
      return service.generateServiceProviderMetadata(null, config.request_signing?.certificate ?? null);
    },
  };
}

/**
 * Returns the id of our request: the nonce with a prefix, because a nonce can begin with a digit, and an XML name
 * cannot.
 */
function requestIdOf(nonce: string): string {
  return `_${nonce}`;
}
