import { type EndedReason, entitlements, grants, inOrder, type Transaction } from '@belay/db';
import { and, asc, eq, gt, inArray, isNull, sql } from 'drizzle-orm';
import type { Actor } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { EntitlementHint } from './places.js';

export interface EndGrants {
  executionId: string;
  reason: EndedReason;
  actor: Actor;
  /** Only the grants of these steps. */
  stepKeys?: readonly string[];
  /** Only the grants of these entitlements. */
  entitlementIds?: readonly string[];
}

/**
 * Ends an execution's live grants early, in the caller's transaction, which holds the execution's lock (lock order:
 * execution → grants → entitlements). Nothing is called here: the reconciler sees that they are no longer wanted (R3).
 * Answers the hints that wake it.
 */
export async function endGrants(tx: Transaction, input: EndGrants): Promise<EntitlementHint[]> {
  const live = tx
    .select({ id: grants.id })
    .from(grants)
    .where(
      and(
        eq(grants.executionId, input.executionId),
        isNull(grants.endedAt),
        gt(grants.expiresAt, sql`app_now()`),
        input.stepKeys === undefined ? undefined : inArray(grants.stepKey, [...input.stepKeys]),
        input.entitlementIds === undefined ? undefined : inArray(grants.entitlementId, [...input.entitlementIds]),
      ),
    )
    // In the order in which sets of entitlements are recorded (recordTogether), so that the two cannot deadlock.
    .orderBy(asc(grants.id))
    .for('update');
  const ended = await tx
    .update(grants)
    .set({ endedAt: sql`app_now()`, endedReason: input.reason })
    .where(inArray(grants.id, live))
    .returning({ entitlementId: grants.entitlementId, userId: grants.userId });
  if (ended.length === 0) return [];
  const ids = [...new Set(ended.map((grant) => grant.entitlementId))];
  // Always in the order of their ids, so that two transactions with the same entitlements cannot deadlock.
  if (ids.length > 1) {
    await tx
      .select({ id: entitlements.id })
      .from(entitlements)
      .where(inArray(entitlements.id, ids))
      .orderBy(asc(entitlements.id))
      .for('update');
  }
  const [due] = await inOrder([
    tx
      .update(entitlements)
      .set({ dueAt: sql`app_now()` })
      .where(inArray(entitlements.id, ids))
      .returning({ entitlementId: entitlements.id, provider: entitlements.provider }),
    appendLedger(
      tx,
      ended.map((grant) => ({
        type: 'grant.ended',
        message: `A grant ended early: ${input.reason}`,
        actor: input.actor,
        userId: grant.userId,
        executionId: input.executionId,
        entitlementId: grant.entitlementId,
        data: { reason: input.reason },
      })),
    ),
  ]);
  return due.map((row): EntitlementHint => ({ queue: 'entitlements', ...row }));
}
