import { type Context, claimDue, deliverMessages, findDue, performClaims } from '@belay/core';
import { findDueSteps, performStep } from '@belay/engine';

const batch = 100;
const together = 8;

/**
 * Does once what is due now, provider by provider and step by step, and waits for all of it: a worker without bulkheads, for tests
 * and for the processes that they start. Returns how much it found.
 */
export async function sweep(ctx: Context): Promise<{ steps: number; entitlements: number }> {
  let entitlements = 0;
  // What takes access away comes first.
  for (const { provider } of (await findDue(ctx)).entitlements) {
    const claims = await claimDue(ctx, { provider, limit: batch });
    entitlements += claims.length;
    await performClaims(ctx, claims);
  }
  const due = await findDueSteps(ctx, batch);
  const queue = [...due];
  await Promise.all(
    Array.from({ length: together }, async () => {
      // One that fails does not keep the others waiting.
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
        await performStep(ctx, row).catch((error) => ctx.log.error({ row, error }, 'a due row could not be handled'));
      }
    }),
  );
  // What closes while others are worked on is revised in the next pass.
  return { steps: due.length + (await deliverMessages(ctx)), entitlements };
}
