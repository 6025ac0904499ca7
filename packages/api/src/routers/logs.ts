import { listLogs } from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { instant, name } from '../text.js';
import { router } from '../trpc.js';

const logEntry = z.object({
  timestamp: instant,
  level: z.string(),
  message: z.string(),
  provider: z.string(),
  user: z.string(),
  workflow_id: z.string(),
  type: z.string(),
});

export const logsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/logs',
        tags: ['logs'],
        summary: 'Read the most recent log entries you may see: system events, user actions and the audit trail',
      },
      rest: { html: 'offered' },
    })
    .input(
      z.strictObject({
        level: name.optional(),
        provider: name.optional(),
        user: name.optional(),
        workflow_id: name.optional(),
        limit: z.number().int().min(1).max(500).optional(),
      }),
    )
    .output(z.object({ logs: z.array(logEntry) }))
    .query(({ ctx, input }) => listLogs(ctx.caller, input)),
});
