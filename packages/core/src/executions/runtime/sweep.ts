import { claimDue } from '../../access/claim.js';
import { performClaims } from '../../access/perform.js';
import type { Context } from '../../context.js';
import { findDue, findDueSteps } from './due.js';
import { performStep } from './perform.js';

const batch = 100;
const together = 8;

/**
 * Does once what is due now, provider by provider and step by step, and waits for all of it: a worker without lanes, for
 * programs that run to an end. Returns how much it found.
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
  await each(due, ctx, (step) => performStep(ctx, step));
  return { steps: due.length, entitlements };
}

/** Handles rows a few at a time; one that fails does not keep the others waiting. */
async function each<T>(rows: readonly T[], ctx: Context, handle: (row: T) => Promise<void>): Promise<void> {
  const queue = [...rows];
  await Promise.all(
    Array.from({ length: together }, async () => {
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
        await handle(row).catch((error: unknown) => ctx.log.error({ row, error }, 'a due row could not be handled'));
      }
    }),
  );
}
