import { eventOperations } from '@belay/contract/events';
import { receiveEvent } from '@belay/core';
import { publicProcedure } from '../procedures.js';
import { router } from '../trpc.js';

export const eventsRouter = router({
  receive: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/events/{source}',
        tags: ['executions'],
        summary: 'Send an event to an execution, as a source of the configuration',
      },
      rest: { public: true, rawBody: { field: 'event', types: ['application/cloudevents+json', 'application/json'] } },
    })
    .input(eventOperations.receive.input)
    .output(eventOperations.receive.output)
    .mutation(async ({ ctx, input }) => {
      const { token, request } = ctx;
      const accepted = await receiveEvent(ctx.core, {
        source: input.source,
        body: input.event,
        // The cookie of a browser is never the credential of an event source.
        token: request.viaCookie ? undefined : (token ?? undefined),
        webhook: request.webhook,
      });
      ctx.reply.status = 202;
      return accepted;
    }),
});
