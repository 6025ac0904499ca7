import { refuseWhenAborted, untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import type { Authenticator } from '../port.js';
import { readAssertion } from './assertion.js';
import type { SamlConfig } from './config.js';
import { readPerson } from './person.js';
import { requirePlainXml } from './plain-xml.js';

/** With the parsers that come with it, which a server that has no such provider need not load. */
const load = () => import('./service.js');

/**
 * Web browser single sign-on of SAML 2.0 (Profiles, 4.1): our request by redirect, its answer by post. Only an answer to
 * a request of ours is taken; that it is taken once is core's part, which has one answer for each flow.
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

/** An XML name may not begin with every character that a nonce may. */
function requestIdOf(nonce: string): string {
  return `_${nonce}`;
}

/** Runs `work` until `signal` says stop and gives its errors in the port's words. */
async function guarded<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  refuseWhenAborted(signal);
  try {
    return await untilAborted(work(), signal);
  } catch (error) {
    if (error instanceof Retryable || error instanceof Terminal) throw error;
    const { isRefusal } = await load();
    if (isRefusal(error)) {
      throw new Terminal('The identity provider denied the sign-in', { cause: error });
    }
    throw new Terminal("The identity provider's response failed validation", { cause: error });
  }
}
