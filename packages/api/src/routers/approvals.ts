import { approvalOperations } from '@belay/contract/approvals';
import { limits } from '@belay/contract/limits';
import { decideApproval, decideApprovals, listApprovers, listInbox } from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
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
      rest: { html: 'offered', shown: limits.shown },
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
  decideMany: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/approvals/decisions',
        tags: ['approvals'],
        summary: 'Approve or deny several requests for the same access, each by a decision of its own',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { html: 'offered' },
    })
    .input(approvalOperations.decideMany.input)
    .output(approvalOperations.decideMany.output)
    .mutation(({ ctx, input }) => decideApprovals(ctx.caller, { ...input, via: 'api' })),
  approvers: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/approvals/{id}/approvers',
        tags: ['approvals'],
        summary: 'List the people who can decide on a request that you can see',
      },
    })
    .input(approvalOperations.approvers.input)
    .output(approvalOperations.approvers.output)
    .query(({ ctx, input }) => listApprovers(ctx.caller, input)),
});
