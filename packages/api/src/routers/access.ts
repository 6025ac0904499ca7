import { listAccess, returnAccess } from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { instant, leavesBehind, name } from '../text.js';
import { router } from '../trpc.js';

const heldAccess = z.object({
  id: z.string(),
  execution_id: z.string(),
  role: z.string(),
  provider: z.string(),
  identity: z.string(),
  access: z.unknown(),
  granted_at: instant.nullable(),
  expires_at: instant.nullable(),
  residual: z.string(),
  leaves_behind: leavesBehind,
  state: z.enum(['granting', 'active']),
});

export const accessRouter = router({
  list: authenticated
    .meta({
      openapi: { method: 'GET', path: '/access', tags: ['access'], summary: 'List the access you hold now' },
      rest: { html: 'offered' },
    })
    .output(z.object({ access: z.array(heldAccess) }))
    .query(({ ctx }) => listAccess(ctx.caller)),
  return: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/access/{execution_id}/return',
        tags: ['access'],
        summary: 'Give access back before its time is over',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(z.strictObject({ execution_id: name }))
    .output(z.object({ status: z.string(), message: z.string() }))
    .mutation(({ ctx, input }) => returnAccess(ctx.caller, input)),
});
