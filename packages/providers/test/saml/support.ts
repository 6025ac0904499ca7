import { type Authenticated, samlConnector } from '../../src/index.js';
import {
  createSamlIdentityProvider,
  type Posted,
  type Said,
  type SamlPerson,
} from '../support/saml-identity-provider.js';

export const redirectUri = 'http://127.0.0.1:8080/api/v1/auth/callback/corp';
export const calm = () => new AbortController().signal;
export const rita: SamlPerson = {
  nameId: 'rita-0001',
  attributes: { email: ['rita@example.test'], displayName: ['Rita'], groups: ['engineers', 'on call', 'engineers'] },
};

/** Returns a different flow for each number. */
export function flowOf(number: number) {
  const text = String(number).padStart(43, '0');
  return { redirectUri, state: `s${text.slice(1)}`, nonce: `n${text.slice(1)}`, codeVerifier: 'v'.repeat(43) };
}

/** Returns an identity provider and a client that trusts it. */
export async function openCorp(
  options: { wantsSigned?: boolean; signsResponses?: boolean } = {},
  more: Record<string, unknown> = {},
) {
  const idp = createSamlIdentityProvider(options);
  const config = samlConnector.config.parse({
    entry_point: idp.entryPoint,
    idp_entity_id: idp.entityId,
    idp_certificates: [idp.certificate],
    issuer: 'https://belay.example.test',
    email_domains: ['example.test'],
    ...more,
  });
  const { authenticator } = samlConnector.create(config, { now: Date.now, log: () => {} });
  if (!authenticator?.metadata) throw new Error('There is nothing to sign in with');
  const metadata = await authenticator.metadata(redirectUri);
  return {
    idp,
    authenticator,
    metadata,
    async answer(said: Said = {}, flow = flowOf(1), person = rita): Promise<Posted> {
      return idp.answer(await authenticator.authorizationUrl(flow, calm()), metadata, person, said);
    },
    async exchange(posted: Posted, flow = flowOf(1)): Promise<Authenticated> {
      const url = new URL(redirectUri);
      url.search = new URLSearchParams({ SAMLResponse: posted.SAMLResponse, state: posted.RelayState }).toString();
      return authenticator.exchange(url, flow, calm());
    },
  };
}
