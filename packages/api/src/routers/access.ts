import { accessOperations } from '@belay/contract/access';
import { listAccess, readConnections, returnAccess } from '@belay/core';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

export const accessRouter = router({
  list: authenticated
    .meta({
      openapi: { method: 'GET', path: '/access', tags: ['access'], summary: 'List the access you hold now' },
      rest: { html: 'offered' },
    })
    .output(accessOperations.list.output)
    .query(({ ctx }) => listAccess(ctx.caller)),
  connection: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/access/{execution_id}/connection',
        tags: ['access'],
        summary: 'Show how to connect to the systems of your access',
      },
    })
    .input(accessOperations.connection.input)
    .output(accessOperations.connection.output)
    .query(({ ctx, input }) => readConnections(ctx.caller, input)),
  return: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/access/{execution_id}/return',
        tags: ['access'],
        summary: 'Give access back before it expires',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(accessOperations.return.input)
    .output(accessOperations.return.output)
    .mutation(({ ctx, input }) => returnAccess(ctx.caller, input)),
});
