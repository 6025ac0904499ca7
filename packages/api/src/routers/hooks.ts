import { hookOperations } from '@belay/contract/hooks';
import { receiveHook } from '@belay/core';
import { publicProcedure } from '../procedures.js';
import { router } from '../trpc.js';

export const hooksRouter = router({
  receive: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/hooks/{provider}',
        tags: ['approvals'],
        summary: 'Receive the signed request of a message provider, such as a click on a button',
      },
      rest: {
        public: true,
        rawBody: { field: 'body', types: ['application/x-www-form-urlencoded', 'application/json'] },
      },
    })
    .input(hookOperations.receive.input)
    .output(hookOperations.receive.output)
    .mutation(({ ctx, input }) =>
      receiveHook(ctx.core, {
        provider: input.provider,
        headers: ctx.request.headers,
        body: Buffer.from(input.body),
      }),
    ),
});
