import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { durationSetting } from '../duration.js';
import { emailDomain, endpoint } from '../endpoint.js';
import { identitySetting } from '../identity-setting.js';
import { isName, isScope } from './names.js';

const guid = z
  .guid('is not an identifier of Entra, for example 7f8a1b1c-0d3e-4c55-9f5a-1d2b3c4d5e6f')
  .transform((text) => text.toLowerCase());
const name = z.string().refine(isName, 'is not a name: 1 to 256 characters without control characters');

const certificate = z
  .strictObject({
    /** The certificate that was uploaded to the app registration, in PEM form. */
    pem: z.string().refine((text) => thumbprintOf(text) !== undefined, 'must be a certificate in PEM form'),
    private_key: z.string().refine(isRsaKey, 'must be a private key in PEM form: RSA with 2048 bits or more'),
  })
  .refine(
    ({ pem, private_key }) => thumbprintOf(pem) === undefined || !isRsaKey(private_key) || belong(pem, private_key),
    {
      path: ['private_key'],
      message: 'must be the private key of the certificate',
    },
  );

/** The kinds of access that Entra can end by itself, where Privileged Identity Management is licensed. */
export const kinds = ['groups', 'directory_roles', 'azure_roles'] as const;

/** The configuration of a provider of type `entra`. */
export const entraConfig = z
  .strictObject({
    /** The identifier of the tenant, which does not change; not one of its domains. */
    tenant: guid,
    /** The application (client) ID of the app registration. */
    client_id: guid,
    client_secret: z.string().min(1).optional(),
    certificate: certificate.optional(),
    /** The kinds of access that expire at Entra as well; the people concerned need Entra ID P2 or Entra ID Governance. */
    pim: z.array(z.enum(kinds)).default([]),
    /** The directory roles that may be granted, by name. */
    directory_roles: z.array(name).default([]),
    /** The scopes of Azure at and below which roles may be granted. */
    scopes: z
      .array(z.string().refine(isScope, 'is not a scope of Azure, for example /subscriptions/<id>/resourceGroups/shop'))
      .default([]),
    /** Groups, by name or identifier, that may be granted although roles of the directory can be assigned to them. */
    allow_role_assignable_groups: z.array(name).default([]),
    /** Permits roles whose holder can give themselves more access. */
    allow_privileged_roles: z.boolean().default(false),
    /**
     * How a person maps to an account: by e-mail address, by a linked sign-in at one of the listed providers whose
     * subject is the object ID of the account, or by a table from e-mail addresses to user principal names.
     */
    identity: identitySetting,
    /** With `identity: email`, the domains whose addresses map to accounts; when absent, all domains. */
    email_domains: z.array(emailDomain).min(1).optional(),
    /** Permits accounts whose home is another organization. */
    allow_guests: z.boolean().default(false),
    /** Access that only Belay grants, written as in `inherits`: the drift audit lists every holder. */
    exclusive: z
      .array(
        z
          .string()
          .regex(
            /^(group|directory-role|azure-role)\/./s,
            'must be group/<name>, directory-role/<name> or azure-role/<name>',
          ),
      )
      .default([]),
    /** Whether a revocation ends the sign-ins of the person at Entra, so that they must sign in again everywhere. */
    end_sign_ins: z.boolean().default(false),
    /** How long tokens and caches may still permit access that has ended. */
    residual: durationSetting('PT1H30M').default('PT1H30M'),
    /** The addresses of Microsoft's APIs; those of the global cloud unless set for a national cloud. */
    endpoints: z
      .strictObject({
        login: endpoint.default('https://login.microsoftonline.com'),
        graph: endpoint.default('https://graph.microsoft.com'),
        resource_manager: endpoint.default('https://management.azure.com'),
      })
      .prefault({}),
  })
  .refine((config) => (config.client_secret === undefined) !== (config.certificate === undefined), {
    path: ['client_secret'],
    message: 'needs exactly one of client_secret and certificate',
  });

export type EntraConfig = z.infer<typeof entraConfig>;
export type Certificate = NonNullable<EntraConfig['certificate']>;

/**
 * Returns the SHA-256 thumbprint of a certificate in base64url, by which Entra finds the certificate; undefined for a
 * text that is not a certificate.
 */
export function thumbprintOf(pem: string): string | undefined {
  try {
    return createHash('sha256').update(new X509Certificate(pem).raw).digest('base64url');
  } catch {
    return undefined;
  }
}

function isRsaKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
  } catch {
    return false;
  }
}

function belong(pem: string, key: string): boolean {
  return new X509Certificate(pem).checkPrivateKey(createPrivateKey(key));
}
