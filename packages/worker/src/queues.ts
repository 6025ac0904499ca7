import type { Hint } from '@belay/core';
import { z } from 'zod';

/** What a job carries: ids and nothing else, because BullMQ stores job data in clear (design §5.4). */
export const payloads = {
  executions: z.strictObject({ executionId: z.uuid(), key: z.string().min(1).max(4096) }),
  entitlements: z.strictObject({ entitlementId: z.uuid() }),
} as const;

export type QueueName = keyof typeof payloads;
export const queueNames = ['executions', 'entitlements'] as const satisfies readonly QueueName[];

export type Payload = z.infer<(typeof payloads)[QueueName]>;

/** The part of a hint that travels. */
export function payloadOf(hint: Hint): Payload {
  return hint.queue === 'executions'
    ? { executionId: hint.executionId, key: hint.key }
    : { entitlementId: hint.entitlementId };
}
