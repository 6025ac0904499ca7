import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { emailDomain, endpoint } from '../endpoint.js';

/** A certificate as PEM, or as the bare base64 of metadata. Parsed to PEM. */
const certificate = z.string().transform((given, context) => {
  try {
    const read = new X509Certificate(given.includes('-----') ? given.trim() : Buffer.from(given, 'base64'));
    const { asymmetricKeyType, asymmetricKeyDetails } = read.publicKey;
    if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048)
      return read.toString().trim();
    context.addIssue('must have an RSA key of at least 2048 bits');
  } catch {
    context.addIssue('is not a certificate (PEM or base64)');
  }
  return z.NEVER;
});

const names = z.array(z.string().min(1)).min(1);
const oid = (id: string) => `urn:oid:${id}`;
const soap = (name: string) => `http://schemas.xmlsoap.org/${name}`;

const attributes = z.strictObject({
  /** The attribute that never changes for a person and is never reused for another; by default the NameID. */
  subject: z.string().min(1).optional(),
  /** Names of attributes; the first that is present counts. Without any, the NameID is used if its format is an address. */
  email: names.default([
    'email',
    'mail',
    oid('0.9.2342.19200300.100.1.3'),
    soap('ws/2005/05/identity/claims/emailaddress'),
  ]),
  name: names.default([
    'displayName',
    'name',
    oid('2.16.840.1.113730.3.1.241'),
    soap('ws/2005/05/identity/claims/name'),
  ]),
  groups: names.default(['groups', 'memberOf', soap('claims/Group')]),
  /** When absent, the groups count as organizations. */
  organizations: names.optional(),
});

/** The configuration of a provider of type `saml`. */
export const samlConfig = z.strictObject({
  /** The address of the identity provider's single sign-on service, to which people are redirected. */
  entry_point: endpoint,
  /** The entity id of the identity provider. */
  idp_entity_id: z.string().min(1).max(1024),
  /** The keys whose signatures are accepted; two while the provider changes its key. */
  idp_certificates: z.array(certificate).min(1),
  /** The entity id of this service. */
  issuer: z.string().min(1).max(1024),
  /** The audience that assertions must have. */
  audience: z.string().min(1).max(1024).optional(),
  /** Whether the whole response must be signed, in addition to its assertion, which always must be. */
  response_signed: z.boolean().default(false),
  /** The key that signs our requests, when the identity provider requires that. */
  request_signing: z
    .strictObject({ private_key: z.string(), certificate })
    .refine(isPair, { path: ['private_key'], message: 'is not the private key (PEM) of the certificate' })
    .optional(),
  name_id_format: z.string().min(1).optional(),
  authn_context: names.optional(),
  attributes: attributes.prefault({}),
  /**
   * The domains whose addresses the identity provider vouches for. SAML does not state whether an address is verified.
   */
  email_domains: z.array(emailDomain).min(1),
});

export type SamlConfig = z.output<typeof samlConfig>;

function isPair(pair: { private_key: string; certificate: string }): boolean {
  try {
    return new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.private_key));
  } catch {
    return false;
  }
}
