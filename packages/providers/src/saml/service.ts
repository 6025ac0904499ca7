import { SAML, SamlStatusError, ValidateInResponseTo } from '@node-saml/node-saml';
import type { SamlConfig } from './config.js';

/** How far the clocks of the identity provider and this machine may be apart. */
const clockMilliseconds = 30_000;

/**
 * node-saml for one exchange. It keeps nothing: the identifier of our request follows from the flow's nonce, so whoever
 * takes the answer knows what it has to be the answer to, on whichever machine.
 */
export function serviceFor(config: SamlConfig, flow: { redirectUri: string; requestId: string }): SAML {
  const { request_signing: signing } = config;
  return new SAML({
    callbackUrl: flow.redirectUri,
    entryPoint: config.entry_point,
    issuer: config.issuer,
    audience: config.audience ?? config.issuer,
    idpCert: config.idp_certificates,
    idpIssuer: config.idp_entity_id,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: config.response_signed,
    acceptedClockSkewMs: clockMilliseconds,
    identifierFormat: config.name_id_format ?? null,
    disableRequestedAuthnContext: config.authn_context === undefined,
    ...(config.authn_context === undefined ? {} : { authnContext: config.authn_context }),
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    ...(signing === undefined ? {} : { privateKey: signing.private_key, publicCert: signing.certificate }),
    generateUniqueId: () => flow.requestId,
    validateInResponseTo: ValidateInResponseTo.always,
    cacheProvider: {
      saveAsync: async () => null,
      // When it was made is core's to know, which keeps flows for some minutes only.
      getAsync: async (id) => (id === flow.requestId ? '9999-01-01T00:00:00.000Z' : null),
      removeAsync: async () => null,
    },
  });
}

/** Whether the identity provider said no, as opposed to an answer that does not hold. */
export function isRefusal(error: unknown): boolean {
  return error instanceof SamlStatusError;
}
