import { type Context, type Hint, performStep, reconcileEntitlement } from '@belay/core';

/** The verbs of core that hints lead to. */
export interface HintVerbs {
  performStep(context: Context, input: { executionId: string; key: string }): Promise<void>;
  reconcileEntitlement(context: Context, input: { entitlementId: string }): Promise<void>;
}

const coreHintVerbs: HintVerbs = { performStep, reconcileEntitlement };

/** Does what a hint leads to. Never rejects: a verb that failed is logged and left to the sweeper. */
export type Follow = (hint: Hint) => Promise<void>;

/** One verb per queue. BullMQ never repeats or keeps anything, so an error is told here. */
export function createFollow(context: Context, verbs: HintVerbs = coreHintVerbs): Follow {
  return async (hint) => {
    try {
      if (hint.queue === 'executions') {
        const { executionId, key } = hint;
        await verbs.performStep(context, { executionId, key });
      } else {
        const { entitlementId } = hint;
        await verbs.reconcileEntitlement(context, { entitlementId });
      }
    } catch (error) {
      context.log.warn({ error, queue: hint.queue }, 'a hint could not be followed; the sweeper will come by');
    }
  };
}
