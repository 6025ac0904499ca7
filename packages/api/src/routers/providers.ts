import { metadata } from '@belay/contract/metadata';
import { providerOperations } from '@belay/contract/providers';
import {
  authorizeSession,
  getProvider,
  listProviderIdentities,
  listProviderPermissions,
  listProviderRoles,
  listProviders,
} from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { browserSecret } from '../sign-in.js';
import { router } from '../trpc.js';

const tags = ['providers'];

export const providersRouter = router({
  list: authenticated
    .meta(metadata.providers.list)
    .input(providerOperations.list.input)
    .output(providerOperations.list.output)
    .query(({ ctx, input }) => listProviders(ctx.caller, input)),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/provider/{provider}', tags, summary: 'Read one provider' },
      rest: { html: 'offered' },
    })
    .input(providerOperations.get.input)
    .output(providerOperations.get.output)
    .query(({ ctx, input }) => getProvider(ctx.caller, input)),
  roles: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/provider/{provider}/roles',
        tags,
        summary: 'List the roles that a provider defines',
      },
    })
    .input(providerOperations.roles.input)
    .output(providerOperations.roles.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderRoles(ctx.caller, input))),
  permissions: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/provider/{provider}/permissions',
        tags,
        summary: 'List the permissions that a provider defines',
      },
    })
    .input(providerOperations.permissions.input)
    .output(providerOperations.permissions.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderPermissions(ctx.caller, input))),
  identities: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/provider/{provider}/identities',
        tags,
        summary: 'List the identities of a provider',
      },
    })
    .input(providerOperations.identities.input)
    .output(providerOperations.identities.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listProviderIdentities(ctx.caller, input))),
  authorizeSession: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/provider/{provider}/authorizeSession',
        tags,
        summary: 'Start a session with a provider (OAuth 2.0)',
      },
    })
    .input(providerOperations.authorizeSession.input)
    .output(providerOperations.authorizeSession.output)
    .mutation(async ({ ctx, input }) => {
      // A session that a browser started must be completed in the same browser. A program cannot keep a cookie; for a program,
      // the identity that the provider returns must be the caller's own.
      const secret = ctx.request.viaCookie ? browserSecret(ctx) : undefined;
      const begun = await authorizeSession(ctx.caller, { ...input, browserSecret: secret });
      if (secret !== undefined) ctx.reply.cookies.push({ kind: 'flow', value: secret });
      return begun;
    }),
});
