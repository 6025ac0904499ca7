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
  total_requests: z.number().int().describe('Requests that have reached this process since it started'),
  roles_count: z.number().int().describe('Roles of the current configuration'),
  workflows_count: z.number().int().describe('Workflows of the current configuration'),
  providers_count: z.number().int().describe('Providers of the current configuration'),
  elevate_requests: z.number().int().describe('Requests of all processes; estimated when there are many'),
  overdue_revocations: z
    .number()
    .int()
    .describe('Access whose removal is at least a minute overdue; any value above 0 is an alarm'),
  failing_executions: z.number().int().describe('Executions that fail because of a service error and are retried'),
  failing_providers: z.number().int().describe('Providers whose latest call for some access failed'),
  undelivered_messages: z.number().int().describe('Messages that could not be delivered in the last 24 hours'),
  disabled_channels: z.number().int().describe('Channels whose receiver accepts no more messages'),
  waiting_approvals: z.number().int().describe('Approvals that wait for a decision; 1,000 means 1,000 or more'),
  oldest_approval_seconds: z.number().describe('How long the oldest of them has waited, in seconds'),
  due_work: z.number().int().describe('Steps and access that are due and that no worker has taken; 10,000 at most'),
  queue_lag_seconds: z.number().describe('How long the oldest of that has been due, in seconds'),
  grants_waiting_for_restore: z
    .number()
    .int()
    .describe('1 while nothing is granted because providers are compared after a restore, else 0'),
  archive_overdue_seconds: z
    .number()
    .describe(
      'For how long the oldest month of the ledger should have been archived and deleted, in seconds; 0 without `server.retention.ledger`',
    ),
  drifted_access: z
    .number()
    .int()
    .describe('Differences between what providers hold and what Belay granted, by the latest drift audit'),
  overdue_reviews: z.number().int().describe('Reviews of emergency access that were not closed in time'),
  dropped_jobs: z
    .number()
    .int()
    .describe('Jobs of the queue that this process has dropped since it started; investigate any value above 0'),
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
    confirmed_at: instant.nullable().describe('When the server last confirmed that it is the current configuration'),
    age: z.string().describe('ISO 8601 duration since then'),
    server: z.string().describe('Whether the server is reachable'),
  })
  .nullable();
/** The configuration of agent mode or client mode; null before the first one. */
export type HeldConfiguration = z.infer<typeof configuration>;

export const localHealth = health.extend({ configuration, clock: z.string().optional() });
export type LocalHealth = z.infer<typeof localHealth>;

export const localReadiness = readiness.extend({ configuration });
export type LocalReadiness = z.infer<typeof localReadiness>;

/** The health of agent mode or client mode. */
export const localSystemOperations = {
  health: query({ output: localHealth }),
  ready: query({ output: localReadiness }),
  metrics: query({ output: metrics }),
};

/** Returns the version of a program, with its source revision where it is known (docs/interface.md, section 15, rule 3). */
export function programVersion({ program }: { program: { version: string; revision?: string } }): string {
  return program.revision ? `${program.version} (git: ${program.revision})` : program.version;
}
