import { metadata } from '@belay/contract/metadata';
import { sessionOperations } from '@belay/contract/sessions';
import { inspectSession, listSessions } from '@belay/core';
import { authenticated, publicProcedure } from '../procedures.js';
import { router } from '../trpc.js';

export const sessionsRouter = router({
  list: authenticated
    .meta(metadata.sessions.list)
    .output(sessionOperations.list.output)
    .query(({ ctx }) => listSessions(ctx.caller)),
  verify: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/session',
        tags: ['sessions'],
        protect: false,
        summary: 'Check whether a session token is valid, as the agent or client that keeps it',
      },
      rest: { public: true },
    })
    .input(sessionOperations.verify.input)
    .output(sessionOperations.verify.output)
    .mutation(({ ctx, input }) => inspectSession(ctx.core, input)),
});
