import { decideApproval, listInbox } from '@belay/core';
import { z } from 'zod';
import { linkNext, next, paging } from '../paging.js';
import { authenticated } from '../procedures.js';
import { instant, leavesBehind, name, remark } from '../text.js';
import { router } from '../trpc.js';

const pendingApproval = z.object({
  id: z.string(),
  execution_id: z.string(),
  requester: z.object({ email: z.string(), name: z.string() }),
  role: z.string(),
  reason: z.string(),
  duration: z.string(),
  providers: z.array(z.string()),
  grants: z
    .array(
      z.object({
        provider: z.string(),
        identity: z.string(),
        access: z.unknown(),
        residual: z.string(),
        leaves_behind: leavesBehind,
        target: z.string().nullable().describe('Which target the provider leads to: nothing is granted at another one'),
      }),
    )
    .describe('Exactly what will be granted'),
  request_digest: z.string(),
  expires_at: instant,
  created_at: instant,
  count: z.number().int(),
  decisions: z.number().int(),
  because: z.string().nullable().describe('Why it is asked again; null when it is asked for the first time'),
});

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
    .input(
      z.strictObject({
        ...paging,
        requester: name.optional().describe('Only what this person requests: their e-mail address'),
        id: name.optional().describe('Only this approval, or the approval of this execution'),
      }),
    )
    .output(
      z.object({
        approvals: z
          .array(pendingApproval)
          .describe('In turns: the oldest of each requester, then the second of each, and so on'),
        next,
        total: z.number().int().describe('How many wait in all'),
        requesters: z
          .array(z.object({ email: z.string(), name: z.string(), waiting: z.number().int() }))
          .describe('Who waits, and with how many requests'),
      }),
    )
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
    .input(
      z.strictObject({
        id: name.describe('Identifier of the approval or of its execution'),
        verdict: z.enum(['approve', 'deny']),
        comment: remark.optional(),
        request_digest: name.optional().describe('What you have seen; a request that is another by now is refused'),
      }),
    )
    .output(z.object({ id: z.string(), status: z.string(), execution_id: z.string() }))
    .mutation(({ ctx, input }) => decideApproval(ctx.caller, { ...input, via: 'api' })),
});
