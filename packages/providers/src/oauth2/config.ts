import { z } from 'zod';
import { emailDomain, endpoint } from '../endpoint.js';

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'is not a valid scope');
/** A field of a JSON answer; dots lead into objects. */
const field = z.string().regex(/^[\w-]+(\.[\w-]+)*$/, 'is not a valid field name');

const claims = z.strictObject({
  /** What never changes of a person and is never given to another. */
  subject: field.default('sub'),
  email: field.default('email'),
  /** The field that says, with true, that the person has proved that the address is theirs. */
  email_verified: field.default('email_verified'),
  /** The first that is there. */
  name: z.array(field).min(1).default(['name', 'preferred_username']),
  groups: field.default('groups'),
});

const settings = z
  .strictObject({
    preset: z.literal('github').optional(),
    authorization_endpoint: endpoint,
    token_endpoint: endpoint,
    /** Says who the access token is of. */
    userinfo_endpoint: endpoint,
    /** Lists the person's addresses with `email`, `primary` and `verified`, as GitHub does. */
    emails_endpoint: endpoint.optional(),
    /** Lists the person's groups, one object for each. */
    groups_endpoint: endpoint.optional(),
    /** The field of each such object that names the group. */
    groups_field: field.default('name'),
    /** Lists the organizations that the person belongs to; absent: its groups are meant. */
    organizations_endpoint: endpoint.optional(),
    organizations_field: field.default('name'),
    client_id: z.string().min(1),
    /** Absent for a public client. */
    client_secret: z.string().min(1).optional(),
    token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
    scopes: z.array(scope).default([]),
    /** What else a session may be asked for (authorizeSession). */
    session_scopes: z.array(scope).optional(),
    /** How a person is read from what the userinfo endpoint answers. */
    claims: claims.prefault({}),
    /** Domains whose addresses the provider gives only to their owners, so that they count as verified. */
    email_domains: z.array(emailDomain).min(1).optional(),
  })
  .refine((config) => config.emails_endpoint === undefined || config.email_domains === undefined, {
    path: ['email_domains'],
    message: 'must not be set together with emails_endpoint, which returns the verified addresses',
  });

export type OAuth2Config = z.output<typeof settings>;

/** What GitHub has no discovery for. Anything can be set beside it: addresses of a GitHub Enterprise Server, say. */
const github = {
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
  userinfo_endpoint: 'https://api.github.com/user',
  emails_endpoint: 'https://api.github.com/user/emails',
  token_endpoint_auth_method: 'client_secret_post',
  scopes: ['read:user', 'user:email'],
  groups_field: 'login',
  organizations_field: 'login',
  // A login can be renamed and then taken by another; the number cannot.
  claims: { subject: 'id', name: ['name', 'login'] },
};

/** What a provider of type `oauth2` is configured with. */
export const oauth2Config: z.ZodType<OAuth2Config> = z.preprocess(
  (given) => (isPreset(given) ? { ...github, ...given } : given),
  settings,
);

function isPreset(given: unknown): given is object {
  return typeof given === 'object' && given !== null && 'preset' in given && given.preset === 'github';
}
