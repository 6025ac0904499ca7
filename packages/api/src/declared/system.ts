import type { Meta } from '@belay/rest';
import { z } from 'zod';
import { instant } from '../text.js';

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
  failing_executions: z.number().int().describe('Executions that fail by an error of the service, and are tried again'),
});
const tags = ['system'];
const rest = { public: true, atRoot: true };

/** What every mode says alike of itself. */
export const declaredSystem = {
  health: {
    meta: {
      openapi: { method: 'GET', path: '/health', tags, protect: false, summary: 'Say how the service is' },
      rest,
    },
    output: health,
  },
  ready: {
    meta: {
      openapi: { method: 'GET', path: '/ready', tags, protect: false, summary: 'Say whether to send requests here' },
      rest,
    },
    output: readiness,
  },
  metrics: {
    meta: {
      openapi: { method: 'GET', path: '/metrics', tags, protect: false, summary: 'Count what was done' },
      rest: { ...rest, metrics: true },
    },
    output: metrics,
  },
} satisfies Record<string, { meta: Meta; output: z.ZodType }>;
