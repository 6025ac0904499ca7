import { SAML, SamlStatusError, ValidateInResponseTo } from '@node-saml/node-saml';
import type { SamlConfig } from './config.js';

/** The largest difference between the clocks of the identity provider and this machine, in milliseconds. */
const clockMilliseconds = 30_000;

/**
 * Returns node-saml for one exchange. It keeps no state: the identifier of our request is derived from the flow's
 * nonce, so every machine that receives the response knows which request it must belong to.
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
      // A far date, so that node-saml never takes the request for expired: core lets a flow expire after some minutes.
      getAsync: async (id) => (id === flow.requestId ? '9999-01-01T00:00:00.000Z' : null),
      removeAsync: async () => null,
    },
  });
}

/** Returns whether the identity provider denied the sign-in, as opposed to a response that is not valid. */
export function isRefusal(error: unknown): boolean {
  return error instanceof SamlStatusError;
}
