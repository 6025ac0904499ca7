import { AccessError } from '@belay/contract/errors';
import { signals, type Transaction } from '@belay/db';
import { and, count, eq, isNotNull, lt, sql } from 'drizzle-orm';
import type { Context } from '../context.js';

/** How many signals that tasks have taken are kept for each execution, so that a repeat of one is known. */
const kept = 1_000;

/**
 * Keeps what an execution remembers of the signals that its tasks have taken within bounds: past a thousand, those go that are older
 * than any sealed signal can be. Returns the refusal of one more where those of the last hour are too many; the
 * execution's lock is held.
 */
export async function boundSignals(ctx: Context, tx: Transaction, executionId: string): Promise<AccessError | null> {
  const taken = and(eq(signals.executionId, executionId), isNotNull(signals.consumedAt));
  const countTaken = async () => (await tx.select({ count: count() }).from(signals).where(taken))[0]?.count ?? 0;
  if ((await countTaken()) < kept) return null;
  const repeatable = sql`app_now() - ${`${ctx.timing.signal} milliseconds`}::interval`;
  await tx.delete(signals).where(and(taken, lt(signals.consumedAt, repeatable)));
  if ((await countTaken()) < kept) return null;
  return new AccessError(
    'too_many_requests',
    `The tasks of this execution have taken ${kept} events in the last hour`,
    {
      retryAfter: 60,
    },
  );
}
