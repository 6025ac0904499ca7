import { z } from 'zod';
import { instant } from './fields.js';
import { query } from './operation.js';

export const health = z.object({
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
export type Health = z.infer<typeof health>;

export const readiness = z.object({ status: z.enum(['ready', 'not ready']), timestamp: instant, version: z.string() });
export type Readiness = z.infer<typeof readiness>;

export const metrics = z.object({
  uptime: z.string().describe('ISO 8601 duration'),
  total_requests: z.number().int().describe('Answered by this process since it started'),
  roles_count: z.number().int().describe('Roles of the configuration in force'),
  workflows_count: z.number().int().describe('Workflows of the configuration in force'),
  providers_count: z.number().int().describe('Providers of the configuration in force'),
  elevate_requests: z.number().int().describe('Requests of all processes; estimated when there are many'),
  overdue_revocations: z
    .number()
    .int()
    .describe('Access that should have been removed a minute ago; any value above 0 is an alarm'),
  failing_executions: z.number().int().describe('Executions that fail by an error of the service, and are tried again'),
  dropped_jobs: z
    .number()
    .int()
    .describe('Jobs of the queue that this process dropped since it started; anything but 0 is worth a look'),
});
export type Metrics = z.infer<typeof metrics>;

export const systemOperations = {
  health: query({ output: health }),
  ready: query({ output: readiness }),
  metrics: query({ output: metrics }),
};

const configuration = z
  .object({
    version: z.string(),
    received_at: z.string(),
    confirmed_at: instant.nullable().describe('When the server last said that it is in force'),
    age: z.string().describe('ISO 8601 duration since then'),
    server: z.string().describe('Whether the server answers'),
  })
  .nullable();
/** The configuration that an agent or a client of a person's machine has; null before it has one. */
export type HeldConfiguration = z.infer<typeof configuration>;

export const localHealth = health.extend({ configuration, clock: z.string().optional() });
export type LocalHealth = z.infer<typeof localHealth>;

export const localReadiness = readiness.extend({ configuration });
export type LocalReadiness = z.infer<typeof localReadiness>;

/** What an agent or a client of a person's machine says of itself. */
export const localSystemOperations = {
  health: query({ output: localHealth }),
  ready: query({ output: localReadiness }),
  metrics: query({ output: metrics }),
};
