import type { Hint, Lane } from '@belay/core';
import { z } from 'zod';

/** When it is due, in milliseconds since the epoch; absent for now. */
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

/** Returns the part of a hint that is sent. */
export function payloadOf(hint: Hint): Payload {
  const due = hint.dueAt && { due: hint.dueAt.getTime() };
  if (hint.queue === 'executions') return { executionId: hint.executionId, key: hint.key, ...due };
  const { entitlementId, provider, task } = hint;
  return { entitlementId, provider, ...(task && { task }), ...due };
}

/** Returns the hint that a job carries; null when it is not one of ours. */
export function readHint(queue: QueueName, data: unknown): Hint | null {
  const read = payloads[queue].safeParse(data);
  if (!read.success) return null;
  const { due, ...ids } = read.data;
  return { queue, ...ids, ...(due === undefined ? {} : { dueAt: new Date(due) }) } as Hint;
}

/** Returns the queue of a hint. */
export function laneOf(hint: Hint): Lane {
  if (hint.queue === 'executions') return { queue: 'executions' };
  return { queue: 'entitlements', provider: hint.provider, ...(hint.task && { task: hint.task }) };
}
