import { decideApproval, listInbox } from '@belay/core';
import { z } from 'zod';
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
      }),
    )
    .describe('Exactly what will be granted'),
  request_digest: z.string(),
  expires_at: instant,
  created_at: instant,
  count: z.number().int(),
  decisions: z.number().int(),
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
    .output(z.object({ approvals: z.array(pendingApproval) }))
    .query(({ ctx }) => listInbox(ctx.caller)),
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
