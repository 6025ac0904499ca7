import { listSessions } from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { instant } from '../text.js';
import { router } from '../trpc.js';

export const sessionsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/sessions',
        tags: ['sessions'],
        summary: 'List your active sessions by provider',
      },
    })
    .output(
      z.object({
        version: z.string(),
        timestamp: instant,
        sessions: z.record(z.string(), z.object({ version: z.number().int(), expiry: instant })),
      }),
    )
    .query(({ ctx }) => listSessions(ctx.caller)),
});
