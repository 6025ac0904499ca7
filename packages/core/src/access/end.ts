import {
  type EndedReason,
  entitlements,
  executions,
  grants,
  type SqlText,
  type Statement,
  sqlText,
  statementOf,
  type Transaction,
} from '@belay/db';
import type { Actor, Store } from '../context.js';
import { actorOfRow, describeActor, notifying, writingLedger } from '../ledger/append.js';
import { type ClaimRow, claimColumns, claimReturning, isSeen } from './claim.js';
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
  const { stepKeys, entitlementIds, over = false } = input;
  const where = sqlText`${over ? sqlText`${grants.executionId} = execution and ${grants.endedAt} is null` : isLiveOf(sqlText`execution`)}
    ${stepKeys === undefined ? sqlText`` : sqlText`and step_key in (select jsonb_array_elements_text(${JSON.stringify(stepKeys)}::text::jsonb))`}
    ${entitlementIds === undefined ? sqlText`` : sqlText`and entitlement_id in (select jsonb_array_elements_text(${JSON.stringify(entitlementIds)}::text::jsonb)::uuid)`}`;
  return statementOf<Due>(tx, ending([input], { where }));
}

/** An execution whose access ends, and the entitlements (`ids`) whose revocations this process can perform at once. */
export interface EndWithClaim extends Pick<EndGrants, 'executionId' | 'reason' | 'actor'> {
  ownerId: string;
  placed: { ids: ReadonlySet<string>; claimId: string };
}

/**
 * An entitlement whose grant was ended. `nth`: the number of its ending among `endings`, from 1. The columns of a claim
 * are valid only when it is `claimed`. `related`: the execution is extended, or extends another one.
 */
export type EndedRow = Omit<ClaimRow, 'task' | 'until' | 'name'> & { nth: string; claimed: boolean; related: boolean };

/**
 * Returns the statement that ends the live grants of executions and claims the revocations that have a place.
 *
 * `alone`: the statement commits itself, and ends only access of executions that have ended, are not extended and extend no
 * other one; a volatile function reads this after it has locked the execution. Otherwise there is one execution, and the
 * caller holds its lock.
 */
export function endingWithClaim(
  { timing }: Store,
  endings: readonly EndWithClaim[],
  { alone }: { alone: boolean },
): SqlText {
  const where = isLiveOf(sqlText`execution`);
  if (alone)
    return ending(endings, { where, lease: timing.lease, permits: sqlText`lock_ended_execution(execution, owner)` });
  return ending(endings, {
    where,
    lease: timing.lease,
    permits: sqlText`exists (select from ${executions} where id = execution and owner_id = owner)`,
    // The move of an execution can be recorded together with the loss when the loss concerns no other execution.
    concerns: sqlText`(select json_agg(one)::text from (
      select ${grants.executionId}, ${executions.endedAt} is null as moves from ${grants}
        join ${executions} on ${executions.id} = ${grants.executionId}
      where ${grants.entitlementId} = due.id and ${grants.goneAt} is null limit 2) as one)`,
    related: sqlText`exists (select from ${executions} where extends_id = live.execution_id)
      or exists (select from ${executions} where id = live.execution_id and extends_id is not null)`,
  });
}

type Ending = Pick<EndGrants, 'executionId' | 'reason' | 'actor'> & Partial<Pick<EndWithClaim, 'ownerId' | 'placed'>>;

/**
 * Returns the statement that ends grants of executions early: those that meet `where`, which may name `execution`, of executions
 * that `permits` lets pass, with the ledger's entries. It makes their entitlements due, and claims those that have a place. An
 * entitlement is claimed only when its row is the one in the statement's snapshot, because then its other grants are in
 * the snapshot too (decision 0070). No two of the executions hold the same entitlement.
 */
function ending(
  endings: readonly Ending[],
  {
    where,
    permits = sqlText`true`,
    lease = 0,
    concerns = sqlText`null`,
    related = sqlText`false`,
  }: { where: SqlText; permits?: SqlText; lease?: number; concerns?: SqlText; related?: SqlText },
): SqlText {
  const { entitlementId, endedAt, goneAt, id } = grants;
  const how = endings.map(({ reason, actor }) => ({
    reason,
    message: `A grant ended early: ${reason}`,
    actor: describeActor(actor),
  }));
  const places = endings.flatMap(({ placed }) => {
    if (!placed) return [];
    return [...placed.ids].map((one) => ({ one, claimId: placed.claimId }));
  });
  const columns = claimColumns({
    task: sqlText`case when claimed then 'revoke' else 'end' end`,
    claimId: sqlText`judged.claim`,
    lease: sqlText`app_now() + ${`${lease} milliseconds`}::interval`,
    otherwise: sqlText`app_now()`,
  });
  // Executions, grants and entitlements are locked in the order of their ids, as `recordResults` does.
  return sqlText`
    with permitted as materialized (
      select given.*, ${permits} as granted from (
        select * from unnest(${listOf(endings.map(({ executionId }) => executionId))}::uuid[],
          ${listOf(endings.map(({ ownerId }) => ownerId ?? 'null'))}::uuid[]) with ordinality as given (execution, owner, nth)
        order by execution) as given),
    how as materialized (
      select * from jsonb_array_elements(${JSON.stringify(how)}::text::jsonb) with ordinality as how (told, nth)),
    placed as materialized (
      select * from unnest(${listOf(places.map(({ one }) => one))}::uuid[],
        ${listOf(places.map(({ claimId }) => claimId))}::text[]) as placed (entitlement, claim)),
    live as (
      select ${id}, ${entitlementId}, ${grants.executionId}, nth from permitted join ${grants} on ${where} and granted
      order by ${id} for update of ${grants}),
    locked as (
      select id, state, lease_until, xmin as version from ${entitlements} where id in (select entitlement_id from live)
      order by id for update),
    judged as materialized (
      select locked.id, placed.claim, placed.claim is not null
        and locked.state <> 'absent' and (locked.lease_until is null or locked.lease_until <= app_now())
        and ${isSeen}
        -- A live grant keeps the access. The expiry of a grant whose time is over is recorded by the next claim.
        and not exists (select from ${grants} where ${entitlementId} = locked.id and ${endedAt} is null and ${goneAt} is null
          and ${id} not in (select id from live)) as claimed
      from locked left join placed on placed.entitlement = locked.id),
    ended as (
      update ${grants} g set ended_at = app_now(), ended_reason = how.told ->> 'reason'
      from live join how using (nth) where g.id = live.id
      returning g.entitlement_id, g.user_id, g.execution_id, how.told, ${overAtIn('g')} <= app_now() as is_over,
        g.gone_at is not null as is_gone),
    due as (
      update ${entitlements} e set ${columns} from judged where e.id = judged.id returning ${claimReturning}, claimed),
    told as (${writingLedger(sqlText`
      select 'grant.ended', 'info', told ->> 'message', ${actorOfRow(sqlText`(told -> 'actor')`)}, user_id, null::text, execution_id,
        entitlement_id, null::jsonb
      from ended
      -- A claim of the revocation has recorded every grant whose time was over.
      where not (is_over and (is_gone or entitlement_id in (select id from locked where state = 'revoking')))`)}),
    notified as (${notifying()})
    select distinct on (due.id) due.id, live.nth, provider, names::text, target, subject::text, fence, failures,
      last_grant_call_at as called, open_calls, accepted, app_now() as now, claimed, remembered, ${concerns} as concerns, ${related} as related,
      (select count(*) from notified)
    from due join live on live.entitlement_id = due.id order by due.id`;
}

/** Returns ids as the text of a PostgreSQL array. */
function listOf(ids: readonly string[]): SqlText {
  return sqlText`${`{${ids.join(',')}}`}::text`;
}
