import { readHealth, readMetrics, readReadiness } from '@belay/core';
import { z } from 'zod';
import { publicProcedure } from '../procedures.js';
import { setStatus } from '../reply.js';
import { instant } from '../text.js';
import { router } from '../trpc.js';

const health = z.object({
  status: z.enum(['healthy', 'degraded', 'unhealthy']),
  path: z.string(),
  timestamp: instant,
  version: z.string(),
  services: z.object({
    workflow_engine: z.string(),
    llm: z.string(),
    encryption: z.string(),
    vault: z.string(),
    scheduler: z.string(),
    storage: z.string(),
  }),
});
const readiness = z.object({ status: z.enum(['ready', 'not ready']), timestamp: instant, version: z.string() });
const metrics = z.object({
  uptime: z.string().describe('ISO 8601 duration'),
  total_requests: z.number().int().describe('Answered by this process since it started'),
  roles_count: z.number().int(),
  workflows_count: z.number().int(),
  providers_count: z.number().int(),
  elevate_requests: z.number().int(),
  overdue_revocations: z.number().int().describe('Anything but 0 is an alarm'),
});
const tags = ['system'];
const rest = { public: true, atRoot: true };

export const systemRouter = router({
  health: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/health', tags, protect: false, summary: 'Say how the service is' },
      rest,
    })
    .output(health)
    .query(async ({ ctx }) => {
      const found = await readHealth(ctx.core, { path: ctx.request.path, scheduler: ctx.host.scheduler });
      return setStatus(ctx, found, found.status === 'unhealthy' ? 503 : 200);
    }),
  ready: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/ready', tags, protect: false, summary: 'Say whether to send requests here' },
      rest,
    })
    .output(readiness)
    .query(async ({ ctx }) => {
      const found = await readReadiness(ctx.core);
      const status = ctx.host.draining() ? 'not ready' : found.status;
      return setStatus(ctx, { ...found, status }, status === 'ready' ? 200 : 503);
    }),
  metrics: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/metrics', tags, protect: false, summary: 'Count what was done' },
      rest: { ...rest, metrics: true },
    })
    .output(metrics)
    .query(({ ctx }) =>
      readMetrics(ctx.core, {
        uptimeMilliseconds: ctx.host.uptimeMilliseconds(),
        requests: ctx.host.requests(),
      }),
    ),
});
