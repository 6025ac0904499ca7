import { inspectSession, listSessions } from '@belay/core';
import { z } from 'zod';
import { declaredSessions } from '../declared/sessions.js';
import { authenticated, publicProcedure } from '../procedures.js';
import { instant, opaque } from '../text.js';
import { router } from '../trpc.js';

export const sessionsRouter = router({
  list: authenticated
    .meta(declaredSessions.list.meta)
    .output(declaredSessions.list.output)
    .query(({ ctx }) => listSessions(ctx.caller)),
  verify: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/session',
        tags: ['sessions'],
        protect: false,
        summary: 'Say what a session token is worth, to an agent or a client that is asked to keep it',
      },
      rest: { public: true },
    })
    .input(z.strictObject({ session: opaque }))
    .output(
      z.object({
        provider: z.string(),
        version: z.number().int(),
        expiry: instant,
        user: z.object({ email: z.string(), name: z.string(), groups: z.array(z.string()), provider: z.string() }),
      }),
    )
    .mutation(({ ctx, input }) => inspectSession(ctx.core, input)),
});
