import { type Context, claimDue, deliverMessages, findDue, performClaims } from '@belay/core';
import { findDueSteps, performStep } from '@belay/engine';

const batch = 100;
const together = 8;

/**
 * Does once all work that is due now, and waits until it is done: a worker without bulkheads, for tests and for the processes that
 * they start. Returns how much work it found.
 */
export async function sweep(ctx: Context): Promise<{ steps: number; entitlements: number }> {
  const { steps, entitlements } = await sweepSilently(ctx);
  // Messages about approvals that close meanwhile are revised in the next pass.
  return { steps: steps + (await deliverMessages(ctx)), entitlements };
}

/** Does what is due until nothing is due. Throws when work remains after this number of passes. */
export async function sweepAll(ctx: Context, passes: number): Promise<void> {
  let silent = false;
  for (let pass = 0; pass < passes; pass += 1) {
    const { steps, entitlements } = await sweepSilently(ctx);
    const rests = steps + entitlements === 0;
    // If the last pass found no message and nothing was done since, there is no message now.
    if (rests && silent) return;
    silent = (await deliverMessages(ctx)) === 0;
    if (rests && silent) return;
  }
  throw new Error('The work does not come to rest');
}

/** Does what is due once, except messages. */
export async function sweepSilently(ctx: Context): Promise<{ steps: number; entitlements: number }> {
  let entitlements = 0;
  const found = await findDue(ctx);
  // Entitlements come before steps, because revocations are among them.
  for (const { provider } of found.entitlements) {
    const claims = await claimDue(ctx, { provider, limit: batch });
    entitlements += claims.length;
    await performClaims(ctx, claims);
  }
  const due =
    entitlements > 0
      ? await findDueSteps(ctx, batch)
      : found.steps.filter(({ dueAt }) => dueAt <= found.now).slice(0, batch);
  const queue = [...due];
  await Promise.all(
    Array.from({ length: together }, async () => {
      // A step that fails does not delay the others.
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
        await performStep(ctx, row).catch((error) => ctx.log.error({ row, error }, 'a due row could not be handled'));
      }
    }),
  );
  return { steps: due.length, entitlements };
}
