import type { Bulkhead, Job } from '@belay/core';
import { z } from 'zod';

/** When the job is due, in milliseconds since the epoch; absent for a job that is due now. */
const due = z.int().min(0).max(8_640_000_000_000_000).optional();

/** The data of a job: only ids, because BullMQ stores job data in clear (docs/architecture.md, section 7). */
export const payloads = {
  executions: z.strictObject({ executionId: z.uuid(), key: z.string().min(1).max(4096), due }),
  entitlements: z.strictObject({
    entitlementId: z.uuid(),
    provider: z.string().min(1).max(200),
    task: z.enum(['grant', 'revoke']).optional(),
    due,
  }),
} as const;

export type QueueName = keyof typeof payloads;
export const queueNames = ['executions', 'entitlements'] as const satisfies readonly QueueName[];

export type Payload = z.infer<(typeof payloads)[QueueName]>;

/** Returns the part of a job that is sent. */
export function payloadOf(job: Job): Payload {
  const due = job.dueAt && { due: job.dueAt.getTime() };
  if (job.queue === 'executions') return { executionId: job.executionId, key: job.key, ...due };
  const { entitlementId, provider, task } = job;
  return { entitlementId, provider, ...(task && { task }), ...due };
}

/** Returns the job that was received from a queue; null when Belay did not make it. */
export function readJob(queue: QueueName, data: unknown): Job | null {
  const read = payloads[queue].safeParse(data);
  if (!read.success) return null;
  const { due, ...ids } = read.data;
  return { queue, ...ids, ...(due === undefined ? {} : { dueAt: new Date(due) }) } as Job;
}

/** Returns the bulkhead whose places a job uses. */
export function bulkheadOf(job: Job): Bulkhead {
  if (job.queue === 'executions') return { queue: 'executions' };
  return { queue: 'entitlements', provider: job.provider, ...(job.task && { task: job.task }) };
}
