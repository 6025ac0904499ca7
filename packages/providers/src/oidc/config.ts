import { z } from 'zod';
import { emailDomain, isLoopback } from '../endpoint.js';

/** Parameters that Belay sets, that change the form of the response, or that make the issuer read the request from elsewhere. */
const ownParameters = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
];

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a valid scope');

/** The configuration of a provider of type `oidc`. */
export const oidcConfig = z
  .strictObject({
    issuer: z.string().refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), {
      message: 'must be the https URL of the issuer',
    }),
    client_id: z.string().min(1),
    /** Absent for a public client. */
    client_secret: z.string().min(1).optional(),
    /** How the secret is sent; by default as the issuer supports, basic before post (OpenID Connect Core 9). */
    token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post']).optional(),
    scopes: z.array(scope).default(['openid', 'profile', 'email']),
    /** Further scopes that a session may request (authorizeSession), for example `offline_access`. */
    session_scopes: z.array(scope).optional(),
    /** Further parameters of the authorization request, for example `access_type: offline`, which Google requires for refresh tokens. */
    authorization_parameters: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9_]*$/, 'is not a valid name of a parameter')
          .refine((name) => !ownParameters.includes(name), 'is a parameter that Belay sets'),
        z.string().min(1),
      )
      .optional(),
    /** The claim that lists the groups of a person. */
    groups_claim: z.string().min(1).default('groups'),
    /** The claim that lists the organizations of a person; when absent, the groups count as organizations. */
    organizations_claim: z.string().min(1).optional(),
    /**
     * Domains whose addresses the issuer gives only to their owners. Such an address counts as verified when the issuer does not
     * send `email_verified`, as Microsoft Entra ID does not; an address that the issuer calls unverified does not count.
     */
    email_domains: z.array(emailDomain).min(1).optional(),
    /** Permits an issuer on the local machine without TLS: for demos and tests. */
    allow_insecure_issuer: z.boolean().default(false),
  })
  .superRefine((config, context) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['issuer'], message });
    const url = URL.canParse(config.issuer) ? new URL(config.issuer) : undefined;
    if (!url) return;
    if (url.username || url.password || url.search || url.hash) refuse('must have no credentials, query or fragment');
    if (config.email_domains && isForEveryTenant(url)) {
      const message = 'must not be set where people of every tenant sign in: use the issuer of your own tenant';
      context.addIssue({ code: 'custom', path: ['email_domains'], message });
    }
    if (url.protocol !== 'http:') return;
    if (!isLoopback(url)) refuse('must be https: without TLS an attacker on the network can sign in as anyone');
    else if (!config.allow_insecure_issuer)
      refuse('is not https; for an issuer on the local machine set allow_insecure_issuer');
  });

export type OidcConfig = z.infer<typeof oidcConfig>;

/** The tenant of personal Microsoft accounts, which everyone can create. */
const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad';

/**
 * Returns whether an issuer of Microsoft is for the people of every tenant. The administrator of any tenant can give a
 * person any address, so an address from such an issuer proves nothing.
 */
function isForEveryTenant({ hostname, pathname }: URL): boolean {
  const [, tenant = ''] = pathname.toLowerCase().split('/');
  const shared = ['common', 'organizations', 'consumers', personalTenant].includes(tenant);
  return shared && /(^|\.)microsoftonline\.(com|us|cn|de)$/.test(hostname);
}
