import { z } from 'zod';
import { emailDomain, endpoint } from '../endpoint.js';

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a valid scope');
/** A field of a JSON response; dots lead into objects. */
const field = z.string().regex(/^[\w-]+(\.[\w-]+)*$/, 'is not a valid field name');

const claims = z.strictObject({
  /** The field that never changes for a person and is never reused for another. */
  subject: field.default('sub'),
  email: field.default('email'),
  /** The field that is true when the person has proved that they own the address. */
  email_verified: field.default('email_verified'),
  /** The first field that is present counts. */
  name: z.array(field).min(1).default(['name', 'preferred_username']),
  groups: field.default('groups'),
});

const settings = z
  .strictObject({
    preset: z.literal('github').optional(),
    authorization_endpoint: endpoint,
    token_endpoint: endpoint,
    /** Returns the person that the access token belongs to. */
    userinfo_endpoint: endpoint,
    /** Lists the person's addresses with `email`, `primary` and `verified`, as GitHub does. */
    emails_endpoint: endpoint.optional(),
    /** Lists the person's groups, one object for each. */
    groups_endpoint: endpoint.optional(),
    /** The field of each such object that contains the name of the group. */
    groups_field: field.default('name'),
    /** Lists the organizations of the person; when absent, the groups count as organizations. */
    organizations_endpoint: endpoint.optional(),
    organizations_field: field.default('name'),
    client_id: z.string().min(1),
    /** Absent for a public client. */
    client_secret: z.string().min(1).optional(),
    token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
    scopes: z.array(scope).default([]),
    /** Further scopes that a session may request (authorizeSession). */
    session_scopes: z.array(scope).optional(),
    /** How a person is read from the response of the userinfo endpoint. */
    claims: claims.prefault({}),
    /** Domains whose addresses the provider gives only to their owners, so that they count as verified. */
    email_domains: z.array(emailDomain).min(1).optional(),
  })
  .refine((config) => config.emails_endpoint === undefined || config.email_domains === undefined, {
    path: ['email_domains'],
    message: 'must not be set together with emails_endpoint, which returns the verified addresses',
  });

export type OAuth2Config = z.output<typeof settings>;

/**
 * The settings of GitHub, which has no discovery. Each can be overridden, for example with addresses of a GitHub
 * Enterprise Server.
 */
const github = {
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
  userinfo_endpoint: 'https://api.github.com/user',
  emails_endpoint: 'https://api.github.com/user/emails',
  token_endpoint_auth_method: 'client_secret_post',
  scopes: ['read:user', 'user:email'],
  groups_field: 'login',
  organizations_field: 'login',
  // A login can be renamed and then taken by another person; the number cannot.
  claims: { subject: 'id', name: ['name', 'login'] },
};

/** The configuration of a provider of type `oauth2`. */
export const oauth2Config: z.ZodType<OAuth2Config> = z.preprocess(
  (given) => (isPreset(given) ? { ...github, ...given } : given),
  settings,
);

function isPreset(given: unknown): given is object {
  return typeof given === 'object' && given !== null && 'preset' in given && given.preset === 'github';
}
