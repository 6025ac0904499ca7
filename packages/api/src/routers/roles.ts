import { metadata } from '@belay/contract/metadata';
import { roleOperations } from '@belay/contract/roles';
import { getRole, searchRoles } from '@belay/core';
import { linkNext } from '../paging.js';
import { authenticated } from '../procedures.js';
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
});
