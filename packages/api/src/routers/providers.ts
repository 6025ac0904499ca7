import {
  getProvider,
  listProviderIdentities,
  listProviderPermissions,
  listProviderRoles,
  listProviders,
} from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { name, remark } from '../text.js';
import { router } from '../trpc.js';

const capability = z.enum(['authenticator', 'authorizer', 'identities', 'notifications']);
const capabilities = z.array(z.string());
const search = z.strictObject({ provider: name, q: remark.optional().describe('Search term') });
const page = { version: z.string(), provider: z.string() };
const tags = ['providers'];

export const providersRouter = router({
  list: authenticated
    .meta({
      openapi: { method: 'GET', path: '/providers', tags, summary: 'List the providers you may use' },
    })
    .input(
      z.strictObject({
        capability: z.array(capability).max(4).optional().describe('Only providers with any of these capabilities'),
      }),
    )
    .output(
      z.object({
        version: z.string(),
        providers: z.array(
          z.object({
            _id: z.string(),
            _source: z.object({
              id: z.string(),
              name: z.string(),
              description: z.string(),
              provider: z.string(),
              enabled: z.boolean(),
              capabilities,
            }),
          }),
        ),
      }),
    )
    .query(({ ctx, input }) => listProviders(ctx.caller, input)),
  get: authenticated
    .meta({ openapi: { method: 'GET', path: '/provider/{provider}', tags, summary: 'Read one provider' } })
    .input(z.strictObject({ provider: name }))
    .output(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        provider: z.string(),
        enabled: z.boolean(),
        capabilities,
      }),
    )
    .query(({ ctx, input }) => getProvider(ctx.caller, input)),
  roles: authenticated
    .meta({
      openapi: { method: 'GET', path: '/provider/{provider}/roles', tags, summary: "List a provider's own roles" },
    })
    .input(search)
    .output(
      z.object({
        ...page,
        roles: z.array(z.object({ name: z.string(), arn: z.string(), description: z.string() })),
      }),
    )
    .query(({ ctx, input }) => listProviderRoles(ctx.caller, input)),
  permissions: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/provider/{provider}/permissions',
        tags,
        summary: "List a provider's own permissions",
      },
    })
    .input(search)
    .output(z.object({ ...page, permissions: z.array(z.object({ name: z.string(), description: z.string() })) }))
    .query(({ ctx, input }) => listProviderPermissions(ctx.caller, input)),
  identities: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/provider/{provider}/identities',
        tags,
        summary: "List a provider's identities",
      },
    })
    .input(search)
    .output(
      z.object({
        ...page,
        identities: z.array(z.object({ id: z.string(), name: z.string(), email: z.string() })),
      }),
    )
    .query(({ ctx, input }) => listProviderIdentities(ctx.caller, input)),
});
