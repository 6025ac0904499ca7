import { entitlements, steps } from '@belay/db';
import { and, asc, eq, isNull, lte, ne, or, sql } from 'drizzle-orm';
import { reconcileEntitlement } from '../../access/reconcile.js';
import type { Context } from '../../context.js';
import { performStep } from './perform.js';

const batch = 100;
const together = 8;

/**
 * One pass over everything that is due and that no hint reached: the scheduler of last resort (design §5.4). Claims are
 * made by the same functions that jobs use, so any number of workers may sweep at once. Answers how many rows it looked at.
 */
export async function sweep(ctx: Context): Promise<{ steps: number; entitlements: number }> {
  // What takes access away comes first.
  const owed = await ctx.db
    .select({ id: entitlements.id })
    .from(entitlements)
    .where(
      and(
        ne(entitlements.state, 'absent'),
        lte(entitlements.dueAt, sql`app_now()`),
        or(isNull(entitlements.leaseUntil), lte(entitlements.leaseUntil, sql`app_now()`)),
      ),
    )
    .orderBy(asc(entitlements.dueAt))
    .limit(batch);
  await each(owed, ctx, ({ id }) => reconcileEntitlement(ctx, { entitlementId: id }));
  const due = await ctx.db
    .select({ executionId: steps.executionId, key: steps.key })
    .from(steps)
    .where(
      and(
        eq(steps.status, 'open'),
        ne(steps.kind, 'event'),
        lte(steps.dueAt, sql`app_now()`),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
      ),
    )
    .orderBy(asc(steps.dueAt))
    .limit(batch);
  await each(due, ctx, (step) => performStep(ctx, step));
  return { steps: due.length, entitlements: owed.length };
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
