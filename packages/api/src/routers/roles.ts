import { metadata } from '@belay/contract/metadata';
import { roleOperations } from '@belay/contract/roles';
import { getRole, listStarredRoles, searchRoles, starRole, unstarRole } from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { router } from '../trpc.js';

export const rolesRouter = router({
  list: authenticated
    .meta(metadata.roles.list)
    .input(roleOperations.list.input)
    .output(roleOperations.list.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await searchRoles(ctx.caller, input))),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/role/{role}', tags: ['roles'], summary: 'Read one role' },
      rest: { html: 'offered' },
    })
    .input(roleOperations.get.input)
    .output(roleOperations.get.output)
    .query(({ ctx, input }) => getRole(ctx.caller, input)),
  starred: authenticated
    .meta({
      openapi: { method: 'GET', path: '/roles/starred', tags: ['roles'], summary: 'List the roles that you starred' },
    })
    .output(roleOperations.starred.output)
    .query(({ ctx }) => listStarredRoles(ctx.caller)),
  star: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/role/{role}/star',
        tags: ['roles'],
        summary: 'Star a role',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(roleOperations.star.input)
    .output(roleOperations.star.output)
    .mutation(({ ctx, input }) => starRole(ctx.caller, input)),
  unstar: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/role/{role}/unstar',
        tags: ['roles'],
        summary: 'Remove the star of a role',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(roleOperations.unstar.input)
    .output(roleOperations.unstar.output)
    .mutation(({ ctx, input }) => unstarRole(ctx.caller, input)),
});
