import { type Context, performStep, reconcileEntitlement } from '@belay/core';
import type { Process } from './backend.js';
import { payloads, type QueueName } from './queues.js';

/** The verbs of core that hints lead to. */
export interface HintVerbs {
  performStep(context: Context, input: { executionId: string; key: string }): Promise<void>;
  reconcileEntitlement(context: Context, input: { entitlementId: string }): Promise<void>;
}

const coreHintVerbs: HintVerbs = { performStep, reconcileEntitlement };

/**
 * One function per queue: parse the ids, call the verb. None rejects: a job that is not ours to read is dropped, and a
 * verb that failed is logged and left to the sweeper, so that BullMQ never repeats or keeps anything.
 */
export function createProcessors(context: Context, verbs: HintVerbs = coreHintVerbs): Record<QueueName, Process> {
  async function guard(queue: QueueName, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      context.log.warn({ error, queue }, 'a hint could not be followed; the sweeper will come by');
    }
  }
  return {
    executions: (data) =>
      guard('executions', async () => {
        const payload = payloads.executions.safeParse(data);
        if (payload.success) await verbs.performStep(context, payload.data);
        else context.log.warn({ queue: 'executions' }, 'a job without a readable id was dropped');
      }),
    entitlements: (data) =>
      guard('entitlements', async () => {
        const payload = payloads.entitlements.safeParse(data);
        if (payload.success) await verbs.reconcileEntitlement(context, payload.data);
        else context.log.warn({ queue: 'entitlements' }, 'a job without a readable id was dropped');
      }),
  };
}
