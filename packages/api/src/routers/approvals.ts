import { approvalOperations } from '@belay/contract/approvals';
import { decideApproval, listInbox } from '@belay/core';
import { linkNext } from '../paging.js';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

export const approvalsRouter = router({
  inbox: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/approvals',
        tags: ['approvals'],
        summary: 'List the requests that wait for your decision',
      },
      rest: { html: 'offered' },
    })
    .input(approvalOperations.inbox.input)
    .output(approvalOperations.inbox.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listInbox(ctx.caller, input))),
  decide: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/approvals/{id}/decision',
        tags: ['approvals'],
        summary: 'Approve or deny a request',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(approvalOperations.decide.input)
    .output(approvalOperations.decide.output)
    .mutation(({ ctx, input }) => decideApproval(ctx.caller, { ...input, via: 'api' })),
});
