import type { Transaction } from '@belay/db';
import type { PreparedMove } from '@belay/engine';
import type { Judgement } from '../approvals/judge.js';
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
  /** The version of the catalog that was in force when the plan was begun. */
  catalogVersion: number;
  userId: string;
  actor: Actor;
  /** The move that opens the step, when it is to be written in the same commit. */
  pending?: PreparedMove | undefined;
  /** Whether it is approved still, and until when it may be granted; under the execution's lock. */
  confirm(tx: Transaction): Promise<Judgement>;
}

/** A grant of an intention, with the identifiers of the rows that it makes. */
export type PlannedRow = Wanted & PlannedGrant & { grantId: string };

/** What the ledger says of an intent: an entry for each grant. */
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
      // The entitlement has the pin, which never changes.
      access: grant.access,
      duration: plan.duration,
      digest: plan.digest,
    },
  }));
}
