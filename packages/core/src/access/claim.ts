import { isOutage } from '@belay/contract/outage';
import { entitlements, execute, executions, grants, rawText, type SqlText, sqlText } from '@belay/db';
import type { Json, Named } from '@belay/providers';
import type { Store } from '../context.js';
import { notifying, writingLedger } from '../ledger/append.js';
import type { Claimed, Concern, Resting } from './claimed.js';
import { decideClaim } from './decide.js';
import { type Remembered, rememberedOf } from './history/memory.js';
import { freeLostClaim } from './lost-claims.js';
import { grantsWait } from './restore/gate.js';
import { isLive, isOver, overAt } from './wanted.js';

/** The result of a claim: a call to make, or an entitlement that needs no call. */
export type Claim = Claimed | Resting;

/**
 * Claims up to `limit` due entitlements of a provider, revocations before grants, in one statement that commits
 * itself. At most `grants` of them are grants. Entitlements that another worker has claimed are left out.
 */
export function claimDue(ctx: Store, which: { provider: string; limit: number; grants?: number }): Promise<Claim[]> {
  const { provider, limit, grants: most = limit } = which;
  const of = sqlText`${entitlements.provider} = ${provider} and`;
  return claim(
    ctx,
    sqlText`
    first as (select ${columns} from ${entitlements} where ${of} ${entitlements.state} <> 'granting' and ${isDue}
      order by ${entitlements.dueAt} limit ${limit} for update skip locked),
    rest as (select ${columns} from ${entitlements} where ${of} ${entitlements.state} = 'granting' and ${isDue}
      order by ${entitlements.dueAt} limit least(${most}, ${limit} - (select count(*) from first)) for update skip locked),
    locked as (select * from first union all select * from rest)`,
  );
}

/** Claims an entitlement that is due and not claimed by another worker, in one statement that commits itself. */
export function claimOne(ctx: Store, entitlementId: string): Promise<Claim[]> {
  const which = sqlText`
    locked as (select ${columns} from ${entitlements} where ${entitlements.id} = ${entitlementId}::uuid and ${isDue}
      for update skip locked)`;
  return claim(ctx, which, concerns);
}

/**
 * Up to two executions that wait for the claimed call: a move can be recorded together with the call only when there
 * is exactly one.
 */
const concerns = sqlText`
  case task when 'grant' then (select json_agg(one)::text from (
    select ${grants.executionId}, ${grants.stepKey}, ${grants.duration}, (
      select count(*) from ${grants} beside where beside.execution_id = ${grants.executionId}
        and beside.step_key = ${grants.stepKey} and coalesce(beside.ended_reason, '') <> 'lapsed') as of_step
    from ${grants} where ${grants.entitlementId} = claimed.id and ${grants.activatedAt} is null and ${isLive} limit 2) as one)
  else (select json_agg(one)::text from (
    select ${grants.executionId}, ${executions.endedAt} is null as moves from ${grants}
      join ${executions} on ${executions.id} = ${grants.executionId}
    where ${grants.entitlementId} = claimed.id and ${grants.goneAt} is null
      and ${isOver} limit 2) as one) end`;

const isDue = sqlText`${entitlements.state} <> 'absent' and ${entitlements.dueAt} <= app_now()
  and (${entitlements.leaseUntil} is null or ${entitlements.leaseUntil} <= app_now())`;

const columns = sqlText`${entitlements.id}, ${entitlements.state}, ${entitlements}.xmin as version`;

/** The SQL of `decideClaim`: one branch for each state, wanted and not wanted. */
const task: SqlText = rawText(
  `case ${(['absent', 'granting', 'granted', 'revoking'] as const)
    .flatMap((state) =>
      [true, false].map((wanted) => {
        const decision = decideClaim({ state }, wanted);
        return `when locked.state = '${state}' and ${wanted ? '' : 'not '}live.wanted then '${decision.do}'`;
      }),
    )
    .join(' ')} end`,
);

/**
 * Returns what a claim writes to the row `e`, by the task that it was given: `grant` and `revoke` take the lease and raise
 * the fence before the call is made (R1, R4). Any other task leaves the row as it is, due `otherwise`.
 */
export function claimColumns({
  task,
  claimId,
  lease,
  otherwise,
}: Record<'task' | 'claimId' | 'lease' | 'otherwise', SqlText>): SqlText {
  const calls = sqlText`(${task}) in ('grant', 'revoke')`;
  return sqlText`
    state = case ${task} when 'grant' then 'granting' when 'revoke' then 'revoking' else e.state end,
    fence = case when ${calls} then e.fence + 1 else e.fence end,
    claim = case when ${calls} then ${claimId} || ' ' || (e.fence + 1) else e.claim end,
    lease_until = case when ${calls} then ${lease} else e.lease_until end,
    due_at = case when ${calls} then ${lease} else ${otherwise} end,
    last_grant_call_at = case ${task} when 'grant' then app_now() else e.last_grant_call_at end,
    open_calls = e.open_calls + ((${task}) = 'grant')::int,
    failures = case when ${task} = 'revoke' and e.state <> 'revoking' then 0 else e.failures end`;
}

/** The name that was committed with the latest of the grants of a group. */
const latestName = sqlText`(array_agg(jsonb_build_object('identity', ${grants.identity}, 'access', ${grants.access})
  order by ${grants.createdAt} desc, ${grants.id} desc))[1]`;

/** The columns of a row `e` that a claim returns. */
export const claimReturning = sqlText`e.id, e.provider, e.names, e.target, e.subject, e.fence, e.failures, e.last_grant_call_at, e.open_calls, e.accepted,
  ${rememberedOf('e')} as remembered`;

/**
 * Whether a row of the expression `locked`, with its `version`, is the one that the statement's snapshot has: then the snapshot
 * has its grants, too (decision 0070).
 */
export const isSeen = sqlText`locked.version = (select e.xmin from ${entitlements} e where e.id = locked.id)`;

/** A claim as a statement returns it. */
export type ClaimRow = {
  id: string;
  provider: string;
  names: string;
  /** The name that was committed with the latest live grant; null where none is live. */
  name: string | null;
  target: string;
  subject: string;
  fence: number;
  failures: number;
  called: string | null;
  open_calls: number;
  accepted: string | null;
  now: string;
  until: string | null;
  task: 'grant' | 'revoke' | 'rest';
  concerns: string | null;
  /** What is remembered of the target (`rememberedOf`). */
  remembered: string;
};

/**
 * Takes the lease, raises the fence and commits the new state before the call is made (R1, R4). Writes a ledger entry for
 * each grant that expired. While grants wait after a restore, a due grant is postponed instead.
 *
 * The statement sees the grants as of its start. Every change of what is wanted also changes the entitlement's row, in the
 * same transaction, so a row that is newer than the statement is skipped: it stays due.
 */
async function claim(ctx: Store, which: SqlText, concern: SqlText = sqlText`null`): Promise<Claim[]> {
  const claimingAt = ctx.clock().getTime();
  const claimId = ctx.newId();
  const leaseEnd = sqlText`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`;
  const rows = await execute<ClaimRow>(
    ctx.db,
    sqlText`
    with ${which},
    -- Materialized, because the task is read in every column that the claim sets.
    judged as materialized (
      select locked.*, live.next_expiry, live.until, live.name, case ${task} when 'grant' then
        case when ${grantsWait} then 'wait' else 'grant' end else ${task} end as task
      from locked
      cross join lateral (
        select count(*) > 0 as wanted, min(${overAt}) as next_expiry, max(case when ${grants.activatedAt} is null
          then app_now() + (${grants.duration} + ${ctx.timing.callTimeout}) * interval '1 millisecond'
          else ${grants.expiresAt} end) as until, ${latestName} as name
        from ${grants} where ${grants.entitlementId} = locked.id and ${isLive}) as live
      where ${isSeen}),
    claimed as (
      update ${entitlements} e set ${claimColumns({
        task: sqlText`task`,
        claimId: sqlText`${claimId}`,
        lease: leaseEnd,
        otherwise: sqlText`case task when 'rest' then coalesce(next_expiry, app_now()) else app_now() + interval '5 seconds' end`,
      })}
      from judged where e.id = judged.id and task <> 'nothing'
      returning ${claimReturning}, task, until, judged.name, judged.state as was),
    told as (${writingLedger(sqlText`
      select 'grant.expired', 'info', 'The time at ' || claimed.provider || ' is over for ' || ${grants.identity},
        '{"system": "reconcile"}'::jsonb, ${grants.userId}, claimed.provider, ${grants.executionId},
        claimed.id, null::jsonb
      from claimed join ${grants} on ${grants.entitlementId} = claimed.id
      where task = 'revoke' and was <> 'revoking' and ${grants.goneAt} is null and ${grants.endedAt} is null
        and ${overAt} <= app_now()`)}),
    notified as (${notifying()})
    select id, provider, names::text, name::text, target, subject::text, fence, failures, last_grant_call_at as called,
      open_calls, accepted, app_now() as now, until, task, remembered, ${concern} as concerns, (select count(*) from notified)
    from claimed where task <> 'wait' order by task = 'grant'`,
  ).catch((error: unknown) => {
    // The claim may have been committed, and only this process knows its id.
    if (isOutage(error)) freeLostClaim(ctx, claimId);
    throw error;
  });
  return rows.map((row) => claimOf(row, claimingAt));
}

export function claimOf(row: ClaimRow, claimingAt: number): Claim {
  const { id, provider, fence, failures, target, task } = row;
  if (task === 'rest') return { id, provider, task };
  const pin = { target, subject: JSON.parse(row.subject) as Json };
  const names = JSON.parse(row.names) as Named[];
  const name = row.name === null ? names.at(-1) : (JSON.parse(row.name) as Named);
  if (!name) throw new Error('An entitlement has no name that was committed');
  const remembered = JSON.parse(row.remembered) as Remembered;
  const now = new Date(row.now);
  const generation = row.called === null ? null : new Date(row.called).toISOString();
  const until = row.until === null ? now : new Date(row.until);
  const concern = concernOf(row);
  return {
    id,
    provider,
    pin,
    names,
    name,
    fence,
    generation,
    openCalls: row.open_calls,
    accepted: row.accepted,
    failures,
    startedAt: now,
    task,
    until,
    concern,
    remembered,
    claimingAt,
  };
}

function concernOf({ task, concerns }: ClaimRow): Concern | null {
  const waiting = JSON.parse(concerns ?? '[]') as Partial<Record<string, unknown>>[];
  const [one] = waiting;
  if (!one || waiting.length > 1) return null;
  const executionId = String(one.execution_id);
  // An execution that has ended makes no further move.
  if (task !== 'grant') return one.moves === true ? { executionId, grant: null } : null;
  return one.of_step === 1
    ? { executionId, grant: { stepKey: String(one.step_key), duration: Number(one.duration) } }
    : null;
}
