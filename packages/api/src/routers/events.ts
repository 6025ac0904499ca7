import { receiveEvent } from '@belay/core';
import { z } from 'zod';
import { publicProcedure } from '../procedures.js';
import { name } from '../text.js';
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
    .input(
      z.strictObject({
        source: name.describe('Name of the source in the configuration'),
        event: z.string().min(1).max(65_536).describe('CloudEvent 1.0 as JSON; `subject` is the id of the execution'),
      }),
    )
    .output(z.object({ status: z.literal('accepted') }))
    .mutation(async ({ ctx, input }) => {
      const { token, request } = ctx;
      const accepted = await receiveEvent(ctx.core, {
        source: input.source,
        body: input.event,
        // What is in a browser's cookie is no source's.
        token: request.viaCookie ? undefined : (token ?? undefined),
        webhook: request.webhook,
      });
      ctx.reply.status = 202;
      return accepted;
    }),
});
