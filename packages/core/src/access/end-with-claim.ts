import { type EndedReason, entitlements, executions, grants, type SqlText, sqlText } from '@belay/db';
import type { Actor, Store } from '../context.js';
import { describeActor, notifying } from '../ledger/append.js';
import type { ClaimRow } from './claim.js';
import { endedEarly, tellingEnds } from './end.js';
import { isLiveOf } from './wanted.js';

/** An execution whose access ends, and the entitlements (`ids`) whose revocations this process can perform at once. */
export interface EndWithClaim {
  executionId: string;
  ownerId: string;
  reason: EndedReason;
  actor: Actor;
  placed: { ids: ReadonlySet<string>; claimId: string };
}

/**
 * An entitlement whose grant was ended. `nth`: the number of its ending among `endings`, from 1. The columns of a claim
 * are valid only when it is `claimed`. `related`: the execution is extended, or extends another one.
 */
export type EndedRow = Omit<ClaimRow, 'task' | 'until'> & { nth: string; claimed: boolean; related: boolean };

/**
 * Returns the statement that ends the live grants of executions and claims the revocations that have a place. An
 * entitlement is claimed only when its row is the one in the statement's snapshot, because then its other grants are in
 * the snapshot too (decision 0070); every other entitlement is made due. No two of the executions hold the same entitlement.
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
  const lease = sqlText`app_now() + ${`${timing.lease} milliseconds`}::interval`;
  const { entitlementId, endedAt, goneAt, id } = grants;
  const how = endings.map(({ reason, actor }) => ({
    reason,
    message: endedEarly(reason),
    actor: describeActor(actor),
  }));
  const places = endings.flatMap(({ placed }) => [...placed.ids].map((one) => ({ one, claimId: placed.claimId })));
  const granted = alone
    ? sqlText`lock_ended_execution(execution, owner)`
    : sqlText`exists (select from ${executions} where id = execution and owner_id = owner)`;
  // The move of an execution can be recorded together with the loss when the loss concerns no other execution.
  const concerns = alone
    ? sqlText`null`
    : sqlText`(select json_agg(one)::text from (
        select ${grants.executionId}, ${executions.endedAt} is null as moves from ${grants}
          join ${executions} on ${executions.id} = ${grants.executionId}
        where ${entitlementId} = due.id and ${goneAt} is null limit 2) as one)`;
  const related = alone
    ? sqlText`false`
    : sqlText`exists (select from ${executions} where extends_id = live.execution_id)
        or exists (select from ${executions} where id = live.execution_id and extends_id is not null)`;
  // Executions, grants and entitlements are locked in the order of their ids, as `recordTogether` does.
  return sqlText`
    with permitted as materialized (
      select given.*, ${granted} as granted from (
        select * from unnest(${listOf(endings.map(({ executionId }) => executionId))}::uuid[],
          ${listOf(endings.map(({ ownerId }) => ownerId))}::uuid[]) with ordinality as given (execution, owner, nth)
        order by execution) as given),
    how as materialized (
      select * from jsonb_array_elements(${JSON.stringify(how)}::text::jsonb) with ordinality as how (told, nth)),
    placed as materialized (
      select * from unnest(${listOf(places.map(({ one }) => one))}::uuid[],
        ${listOf(places.map(({ claimId }) => claimId))}::text[]) as placed (entitlement, claim)),
    live as (
      select ${id}, ${entitlementId}, ${grants.executionId}, nth from permitted join ${grants} on ${isLiveOf(sqlText`permitted.execution`)} and granted
      order by ${id} for update of ${grants}),
    locked as (
      select id, state, lease_until, xmin as version from ${entitlements} where id in (select entitlement_id from live)
      order by id for update),
    judged as materialized (
      select locked.id, placed.claim, placed.claim is not null
        and locked.state <> 'absent' and (locked.lease_until is null or locked.lease_until <= app_now())
        and locked.version = (select e.xmin from ${entitlements} e where e.id = locked.id)
        -- A live grant keeps the access. The expiry of a grant whose time is over is recorded by the next claim.
        and not exists (select from ${grants} where ${entitlementId} = locked.id and ${endedAt} is null and ${goneAt} is null
          and ${id} not in (select id from live)) as claimed
      from locked left join placed on placed.entitlement = locked.id),
    ended as (
      update ${grants} g set ended_at = app_now(), ended_reason = how.told ->> 'reason'
      from live join how using (nth) where g.id = live.id
      returning g.entitlement_id, g.user_id, g.execution_id, how.told),
    due as (
      update ${entitlements} e set due_at = case when claimed then ${lease} else app_now() end,
        lease_until = case when claimed then ${lease} else e.lease_until end,
        state = case when claimed then 'revoking' else e.state end,
        fence = case when claimed then e.fence + 1 else e.fence end,
        claim = case when claimed then judged.claim || ' ' || (e.fence + 1) else e.claim end,
        failures = case when claimed and e.state <> 'revoking' then 0 else e.failures end
      from judged where e.id = judged.id
      returning e.id, e.provider, e.identity, e.access, e.target, e.subject, e.fence, e.failures, e.last_grant_call_at, claimed),
    told as (${tellingEnds({
      message: sqlText`told ->> 'message'`,
      actor: sqlText`told -> 'actor'`,
      execution: sqlText`execution_id`,
    })}),
    notified as (${notifying()})
    select distinct on (due.id) due.id, live.nth, provider, identity, access::text, target, subject::text, fence, failures,
      last_grant_call_at as called, app_now() as now, claimed, ${concerns} as concerns, ${related} as related,
      (select count(*) from notified)
    from due join live on live.entitlement_id = due.id order by due.id`;
}

/** Returns ids as the text of a PostgreSQL array. */
function listOf(ids: readonly string[]): SqlText {
  return sqlText`${`{${ids.join(',')}}`}::text`;
}
