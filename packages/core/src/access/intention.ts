import type { Transaction } from '@belay/db';
import type { PreparedMove } from '@belay/engine';
import type { Approved, Judgement } from '../approvals/judge.js';
import type { Actor } from '../context.js';
import type { LedgerEntry } from '../ledger/append.js';
import type { Plan, PlannedGrant } from '../plans/plan.js';
import type { Wanted } from './rows.js';

export interface Intention {
  executionId: string;
  stepKey: string;
  /** The claim's attempt: the fence of the step. */
  attempt: number;
  plan: Plan;
  /** The version of the catalog in force when the plan was started. */
  catalogVersion: number;
  userId: string;
  actor: Actor;
  /** The move that opens the step, when the same commit has to write it. */
  pending?: PreparedMove | undefined;
  /** The approvals by which the plan may be granted; absent before the first move, when an execution has none. */
  approved?: Approved | undefined;
  /** Returns whether the request is still approved; reads under the execution's lock. */
  confirm(tx: Transaction): Promise<Judgement>;
}

/** A grant of an intent, with the ids of its new rows. */
export type PlannedRow = Wanted & PlannedGrant & { grantId: string };

/** Returns the ledger entries of an intent, one per grant. */
export function intendedEntries(
  intention: Intention,
  planned: readonly PlannedRow[],
  entitlementIds: readonly string[],
): LedgerEntry[] {
  const { plan } = intention;
  return planned.map((grant, index) => ({
    type: 'grant.intended',
    message: `Granting at ${grant.provider} to ${grant.identity}`,
    actor: intention.actor,
    userId: intention.userId,
    provider: grant.provider,
    executionId: intention.executionId,
    entitlementId: entitlementIds[index] ?? '',
    data: {
      // Without the pin: it is in the entitlement, and never changes.
      access: grant.access,
      duration: plan.duration,
      digest: plan.digest,
    },
  }));
}
