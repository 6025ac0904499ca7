import { commentOperations } from '@belay/contract/comments';
import { addComment, listComments } from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['executions'];

export const commentsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/execution/{id}/comments',
        tags,
        summary: 'List the comments on a request, oldest first',
      },
    })
    .input(commentOperations.list.input)
    .output(commentOperations.list.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listComments(ctx.caller, input))),
  add: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/execution/{id}/comments',
        tags,
        summary: 'Comment on a request, ask for information, or answer; this decides nothing',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(commentOperations.add.input)
    .output(commentOperations.add.output)
    .mutation(({ ctx, input }) => addComment(ctx.caller, input)),
});
