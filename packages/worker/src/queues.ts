import type { Hint, Lane } from '@belay/core';
import { z } from 'zod';

/** What a job carries: ids and nothing else, because BullMQ stores job data in clear (design §5.4). */
export const payloads = {
  executions: z.strictObject({ executionId: z.uuid(), key: z.string().min(1).max(4096) }),
  entitlements: z.strictObject({
    entitlementId: z.uuid(),
    provider: z.string().min(1).max(200),
    task: z.enum(['grant', 'revoke']).optional(),
  }),
} as const;

export type QueueName = keyof typeof payloads;
export const queueNames = ['executions', 'entitlements'] as const satisfies readonly QueueName[];

export type Payload = z.infer<(typeof payloads)[QueueName]>;

/** The part of a hint that travels. */
export function payloadOf(hint: Hint): Payload {
  if (hint.queue === 'executions') return { executionId: hint.executionId, key: hint.key };
  const { entitlementId, provider, task } = hint;
  return { entitlementId, provider, ...(task && { task }) };
}

/** The hint that a job carries; null when it is not one of ours. */
export function readHint(queue: QueueName, data: unknown): Hint | null {
  const read = payloads[queue].safeParse(data);
  return read.success ? ({ queue, ...read.data } as Hint) : null;
}

/** Where a hint is followed. */
export function laneOf(hint: Hint): Lane {
  if (hint.queue === 'executions') return { queue: 'executions' };
  return { queue: 'entitlements', provider: hint.provider, ...(hint.task && { task: hint.task }) };
}
