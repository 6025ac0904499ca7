import {
  authorizeSession,
  getProvider,
  listProviderIdentities,
  listProviderPermissions,
  listProviderRoles,
  listProviders,
} from '@belay/core';
import { z } from 'zod';
import { declaredProviders } from '../declared/providers.js';
import { linkNext, next, paging } from '../paging.js';
import { authenticated } from '../procedures.js';
import { browserSecret } from '../sign-in.js';
import { name, opaque, remark } from '../text.js';
import { router } from '../trpc.js';

const capabilities = z.array(z.string());
const search = z.strictObject({ provider: name, q: remark.optional().describe('Search term'), ...paging });
const page = { version: z.string(), provider: z.string(), next };
const tags = ['providers'];

export const providersRouter = router({
  list: authenticated
    .meta(declaredProviders.list.meta)
    .input(declaredProviders.list.input)
    .output(declaredProviders.list.output)
    .query(({ ctx, input }) => listProviders(ctx.caller, input)),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/provider/{provider}', tags, summary: 'Read one provider' },
      rest: { html: 'offered' },
    })
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
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderRoles(ctx.caller, input))),
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
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderPermissions(ctx.caller, input))),
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
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderIdentities(ctx.caller, input))),
  authorizeSession: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/provider/{provider}/authorizeSession',
        tags,
        summary: 'Begin to open a session with a provider (OAuth 2.0)',
      },
    })
    .input(
      z.strictObject({
        provider: name,
        scopes: z.array(name).max(50).describe('Of those that the configuration allows; none: its own'),
        state: opaque.max(2000).describe('Handed back as it is'),
        redirect_uri: opaque.describe('Where to go afterwards; must be on the allow-list'),
      }),
    )
    .output(z.object({ url: z.string(), expires_in: z.number().int().describe('Seconds') }))
    .mutation(async ({ ctx, input }) => {
      // A browser finishes what it began; a program cannot keep a cookie, and proves itself by whose identity comes back.
      const secret = ctx.request.viaCookie ? browserSecret(ctx) : undefined;
      const begun = await authorizeSession(ctx.caller, { ...input, browserSecret: secret });
      if (secret !== undefined) ctx.reply.cookies.push({ kind: 'flow', value: secret });
      return begun;
    }),
});
