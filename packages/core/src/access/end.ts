import {
  type EndedReason,
  entitlements,
  grants,
  type SqlText,
  type Statement,
  sqlText,
  statementOf,
  type Transaction,
} from '@belay/db';
import type { Actor } from '../context.js';
import { actorOfRow, describeActor, notifying, writingLedger } from '../ledger/append.js';
import type { EntitlementJob } from './places.js';
import { isLiveOf, overAtIn } from './wanted.js';

export interface EndGrants {
  executionId: string;
  reason: EndedReason;
  actor: Actor;
  /** Only the grants of these steps. */
  stepKeys?: readonly string[];
  /** Only the grants of these entitlements. */
  entitlementIds?: readonly string[] | undefined;
  /** Also the grants whose time is over. Those that a claim has recorded as expired get no second ledger entry. */
  over?: boolean;
}

type Due = { id: string; provider: string };

/**
 * Ends an execution's live grants early, in the caller's transaction, which holds the execution's lock (lock order:
 * execution → grants → entitlements). No provider is called here: the reconciler sees that the grants are no longer
 * wanted (R3). Returns the jobs that wake the reconciler.
 */
export async function endGrants(tx: Transaction, input: EndGrants): Promise<EntitlementJob[]> {
  return jobsOf(await endingGrants(tx, input).execute());
}

/** Returns the jobs that wake the reconciler for ended grants. */
export function jobsOf(due: readonly Due[]): EntitlementJob[] {
  return due.map(({ id, provider }) => ({ queue: 'entitlements', entitlementId: id, provider }));
}

/** Returns the statement of `endGrants`, to be sent together with the one that takes the execution's lock. */
export function endingGrants(tx: Transaction, input: EndGrants): Statement<Due[]> {
  const { executionId, reason, stepKeys, entitlementIds, over = false } = input;
  const telling = tellingEnds({
    message: sqlText`${endedEarly(reason)}`,
    actor: sqlText`${JSON.stringify(describeActor(input.actor))}::text::jsonb`,
    execution: sqlText`${executionId}::uuid`,
    // A claim of the revocation has recorded every grant whose time was over.
    where: over
      ? sqlText`not (is_over and (is_gone or entitlement_id in (select id from locked where state = 'revoking')))`
      : sqlText`true`,
  });
  // Grants and entitlements are locked in the order of their ids, as `recordTogether` does.
  return statementOf<Due>(
    tx,
    sqlText`
    with live as (
      select id from ${grants} where ${over ? sqlText`execution_id = ${executionId} and ended_at is null` : isLiveOf(sqlText`${executionId}`)}
        ${stepKeys === undefined ? sqlText`` : sqlText`and step_key in (select jsonb_array_elements_text(${JSON.stringify(stepKeys)}::text::jsonb))`}
        ${entitlementIds === undefined ? sqlText`` : sqlText`and entitlement_id in (select jsonb_array_elements_text(${JSON.stringify(entitlementIds)}::text::jsonb)::uuid)`}
      order by id for update),
    ended as (
      update ${grants} g set ended_at = app_now(), ended_reason = ${reason}
      from live where g.id = live.id
      returning g.entitlement_id, g.user_id, ${overAtIn('g')} <= app_now() as is_over, g.gone_at is not null as is_gone),
    locked as (
      select id, state from ${entitlements} where id in (select entitlement_id from ended) order by id for update),
    due as (
      update ${entitlements} e set due_at = app_now() from locked where e.id = locked.id returning e.id, e.provider),
    told as (${telling}),
    notified as (${notifying()})
    select id, provider, (select count(*) from notified) from due order by id`,
  );
}

/** Returns the part of a statement that writes a ledger entry for each row of the expression `ended` that meets `where`. */
export function tellingEnds({
  message,
  actor,
  execution,
  where = sqlText`true`,
}: Record<'message' | 'actor' | 'execution', SqlText> & { where?: SqlText }): SqlText {
  return writingLedger(sqlText`
    select 'grant.ended', 'info', ${message}, ${actorOfRow(actor)}, user_id, null::text, ${execution}, entitlement_id, null::jsonb
    from ended where ${where}`);
}

/** Returns the ledger's message for a grant that ended early. */
export function endedEarly(reason: EndedReason): string {
  return `A grant ended early: ${reason}`;
}
