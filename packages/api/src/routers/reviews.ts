import { limits } from '@belay/contract/limits';
import { reviewOperations } from '@belay/contract/reviews';
import { closeReview, listReviews } from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['reviews'];

export const reviewsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/reviews',
        tags,
        summary: 'List the reviews of emergency access that the caller may see',
      },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(reviewOperations.list.input)
    .output(reviewOperations.list.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listReviews(ctx.caller, input))),
  close: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/reviews/{id}/close',
        tags,
        summary: 'Close a review of emergency access with a verdict and a note, as a reviewer or an administrator',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(reviewOperations.close.input)
    .output(reviewOperations.close.output)
    .mutation(({ ctx, input }) => closeReview(ctx.caller, input)),
});
