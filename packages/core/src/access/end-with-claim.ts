import { type EndedReason, entitlements, executions, grants, type SqlText, sqlText } from '@belay/db';
import type { ActorStore } from '../context.js';
import { notifying } from '../ledger/append.js';
import type { ClaimRow } from './claim.js';
import { tellingEnds } from './end.js';
import { isLiveOf } from './wanted.js';

/** The owner's access that ends, and the places of this process for its revocations. */
export interface EndWithClaim {
  executionId: string;
  reason: EndedReason;
  ownerId: string;
  placed: { ids: ReadonlySet<string>; claimId: string };
}

/** An entitlement whose grant has ended; the columns of a claim count when it is claimed. `related`: see `endHeldHere`. */
export type EndedRow = Omit<ClaimRow, 'task' | 'until'> & { claimed: boolean; related: boolean };

/**
 * Returns the statement that ends the live grants of an execution and claims the revocations that have a place. An
 * entitlement is claimed only when its row is the one in the statement's snapshot, because then its other grants are in
 * the snapshot too (decision 0070); any other is made due.
 *
 * `alone`: the statement commits itself, and ends only what has no family and belongs to an execution that has ended;
 * both are read after the execution's lock, by a volatile function. Otherwise the caller holds that lock.
 */
export function endingWithClaim(
  ctx: ActorStore,
  { executionId, reason, ownerId, placed }: EndWithClaim,
  { alone }: { alone: boolean },
): SqlText {
  const execution = sqlText`${executionId}::uuid`;
  const lease = sqlText`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`;
  const { entitlementId, endedAt, goneAt, id } = grants;
  const permitted = alone
    ? sqlText`select lock_ended_execution(${execution}, ${ownerId}::uuid) as granted`
    : sqlText`select exists (select from ${executions} where id = ${execution} and owner_id = ${ownerId}::uuid) as granted`;
  // Its move can be recorded together with the loss when it is the only one that the loss concerns.
  const concerns = alone
    ? sqlText`null`
    : sqlText`(select json_agg(one)::text from (
        select ${grants.executionId}, ${executions.endedAt} is null as moves from ${grants}
          join ${executions} on ${executions.id} = ${grants.executionId}
        where ${entitlementId} = due.id and ${goneAt} is null limit 2) as one)`;
  const related = alone
    ? sqlText`false`
    : sqlText`exists (select from ${executions} where extends_id = ${execution})
        or exists (select from ${executions} where id = ${execution} and extends_id is not null)`;
  // Grants and entitlements are locked in the order of their ids, as `recordTogether` does.
  return sqlText`
    with permitted as materialized (${permitted}),
    live as (
      select id, entitlement_id from ${grants} where ${isLiveOf(execution)} and (select granted from permitted)
      order by id for update),
    locked as (
      select id, state, lease_until, xmin as version from ${entitlements} where id in (select entitlement_id from live)
      order by id for update),
    judged as materialized (
      select locked.id, locked.id = any(${`{${[...placed.ids].join(',')}}`}::text::uuid[])
        and locked.state <> 'absent' and (locked.lease_until is null or locked.lease_until <= app_now())
        and locked.version = (select e.xmin from ${entitlements} e where e.id = locked.id)
        -- A grant that is live keeps the access, and of one whose time is over the end is told by the next claim.
        and not exists (select from ${grants} where ${entitlementId} = locked.id and ${endedAt} is null and ${goneAt} is null
          and ${id} not in (select id from live)) as claimed
      from locked),
    ended as (
      update ${grants} g set ended_at = app_now(), ended_reason = ${reason}
      from live where g.id = live.id returning g.entitlement_id, g.user_id),
    due as (
      update ${entitlements} e set due_at = case when claimed then ${lease} else app_now() end,
        lease_until = case when claimed then ${lease} else e.lease_until end,
        state = case when claimed then 'revoking' else e.state end,
        fence = case when claimed then e.fence + 1 else e.fence end,
        claim = case when claimed then ${placed.claimId} || ' ' || (e.fence + 1) else e.claim end,
        failures = case when claimed and e.state <> 'revoking' then 0 else e.failures end
      from judged where e.id = judged.id
      returning e.id, e.provider, e.identity, e.access, e.target, e.subject, e.fence, e.failures, e.last_grant_call_at, claimed),
    told as (${tellingEnds({ executionId, reason, actor: ctx.actor })}),
    notified as (${notifying()})
    select id, provider, identity, access::text, target, subject::text, fence, failures, last_grant_call_at as called,
      app_now() as now, claimed, ${concerns} as concerns, ${related} as related, (select count(*) from notified)
    from due order by id`;
}
