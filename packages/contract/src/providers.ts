import { z } from 'zod';
import { name, opaque, remark } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { next, pagingOfWhole } from './paging.js';

export const capability = z.enum(['authenticator', 'authorizer', 'identities', 'notifications']);
export type Capability = z.infer<typeof capability>;

export const provider = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  provider: z.string().describe("The connector's type, such as `postgres`"),
  enabled: z.boolean(),
  capabilities: z.array(z.string()),
});
export type Provider = z.infer<typeof provider>;

export const providerSummary = z.object({ _id: z.string(), _source: provider });
export type ProviderSummary = z.infer<typeof providerSummary>;

export const providerList = z.object({ version: z.string(), providers: z.array(providerSummary) });
export type ProviderList = z.infer<typeof providerList>;

const page = { version: z.string(), provider: z.string(), next };

export const providerRoles = z.object({
  ...page,
  roles: z.array(z.object({ name: z.string(), arn: z.string(), description: z.string() })),
});
export type ProviderRoles = z.infer<typeof providerRoles>;

export const providerPermissions = z.object({
  ...page,
  permissions: z.array(z.object({ name: z.string(), description: z.string() })),
});
export type ProviderPermissions = z.infer<typeof providerPermissions>;

export const providerIdentities = z.object({
  ...page,
  identities: z.array(z.object({ id: z.string(), name: z.string(), email: z.string() })),
});
export type ProviderIdentities = z.infer<typeof providerIdentities>;

const sessionAuthorization = {
  scopes: z
    .array(name)
    .max(limits.scopes)
    .describe('Scopes to request, among those that the configuration allows; default: those of the configuration'),
  state: opaque.max(limits.clientState).describe('Returned unchanged'),
  redirect_uri: opaque.describe('Where to go afterwards; must be on the allow-list'),
};
export type SessionAuthorization = z.input<z.ZodObject<typeof sessionAuthorization>>;

export const authorizationStart = z.object({
  url: z.string().describe('URL to send the person to'),
  expires_in: z.number().int().describe('Seconds'),
});
export type AuthorizationStart = z.infer<typeof authorizationStart>;

const search = z.strictObject({ provider: name, q: remark.optional().describe('Search term'), ...pagingOfWhole });

export const providerOperations = {
  list: query({
    input: z.strictObject({
      capability: z
        .array(capability)
        .min(1, 'must name at least one')
        .max(4)
        .optional()
        .describe('Only providers with any of these capabilities'),
    }),
    output: providerList,
  }),
  get: query({ input: z.strictObject({ provider: name }), output: provider }),
  roles: query({ input: search, output: providerRoles }),
  permissions: query({ input: search, output: providerPermissions }),
  identities: query({ input: search, output: providerIdentities }),
  authorizeSession: mutation({
    input: z.strictObject({ provider: name, ...sessionAuthorization }),
    output: authorizationStart,
  }),
};
