import { metadata } from '@belay/contract/metadata';
import { systemOperations } from '@belay/contract/system';
import { readHealth, readMetrics } from '@belay/core';
import { publicProcedure } from '../procedures.js';
import { setStatus } from '../reply.js';
import { router } from '../trpc.js';

export const systemRouter = router({
  health: publicProcedure
    .meta(metadata.system.health)
    .output(systemOperations.health.output)
    .query(async ({ ctx }) => {
      const { scheduler, droppedJobs } = ctx.host;
      const input = { path: ctx.request.path, scheduler, droppedJobs: droppedJobs().recent };
      const found = await readHealth(ctx.core, input);
      return setStatus(ctx, found, found.status === 'unhealthy' ? 503 : 200);
    }),
  ready: publicProcedure
    .meta(metadata.system.ready)
    .output(systemOperations.ready.output)
    .query(async ({ ctx }) => {
      const found = await ctx.host.readiness();
      const status = ctx.host.draining() ? 'not ready' : found.status;
      return setStatus(ctx, { ...found, status }, status === 'ready' ? 200 : 503);
    }),
  metrics: publicProcedure
    .meta(metadata.system.metrics)
    .output(systemOperations.metrics.output)
    .query(({ ctx }) =>
      readMetrics(ctx.core, {
        uptimeMilliseconds: ctx.host.uptimeMilliseconds(),
        requests: ctx.host.requests(),
        droppedJobs: ctx.host.droppedJobs().total,
      }),
    ),
});
