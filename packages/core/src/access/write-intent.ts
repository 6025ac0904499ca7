import { causesOf } from '@belay/contract/outage';
import { catalogs, entitlements, executions, grants, type SqlText, sqlText } from '@belay/db';
import { parkingWith, writing } from '@belay/engine';
import type { Store } from '../context.js';
import { type ClaimRow, claimOf } from './claim.js';
import { rememberedOf } from './history/memory.js';
import { type Intention, intendedEntries, type PlannedRow } from './intention.js';
import type { Places } from './places.js';
import { grantsWait } from './restore/gate.js';
import { isLive } from './wanted.js';

/** A row that the statement returns: an entitlement of the intent, and whether it was claimed. */
export type IntentRow = Omit<ClaimRow, 'task' | 'concerns' | 'name'> & {
  key: string;
  claimed: boolean;
  alone: boolean;
};

/**
 * Returns the statement that writes an intent (R1): its grants, its entitlements and its ledger entries, with the claim of
 * those that have a place. It also writes the move that opens the call, or else parks the call, and it writes nothing when
 * that move or that call is not as expected, or when the configuration or the approvals are not those of the plan.
 *
 * What it reads before its locks cannot have changed under them: the table of configurations is locked when the statement
 * starts, before PostgreSQL takes its snapshot; the approvals are compared by a function that reads them after it has
 * locked the execution. What is written to an entitlement depends on the locked row. It is claimed only when that row is the
 * one in the statement's snapshot, because then its other grants are in the snapshot too (decision 0070).
 *
 * A row that is not absent belongs to one provider. When it belongs to another one, the statement fails with `isOfAnother`: only the
 * locked row can tell.
 *
 * `locked`: the caller's transaction has locked and checked what the statement alone cannot: the execution that is extended,
 * and entitlements whose access the provider holds. Without it, nothing is written for an extension.
 */
export function writingIntent(
  ctx: Store,
  intention: Intention,
  rows: readonly PlannedRow[],
  { placed, locked }: { placed: { ids: ReadonlySet<string>; claimId: string }; locked: boolean },
): SqlText {
  const { plan, stepKey, userId, executionId, approved } = intention;
  const interval = (milliseconds: number) => sqlText`${`${milliseconds} milliseconds`}::interval`;
  const lease = sqlText`app_now() + ${interval(ctx.timing.lease)}`;
  const texts = rows.map((one) => ({
    id: one.id,
    grant_id: one.grantId,
    key: one.key,
    provider: one.provider,
    identity: one.identity,
    known_as: one.knownAs,
    access: one.access,
    target: one.pin.target,
    subject: one.pin.subject,
    address: one.address,
    placed: placed.ids.has(one.id),
  }));
  // Most intents have one grant. Without the limit, the planner assumes a hundred rows for a list of unknown length, and
  // reads whole tables.
  const only = rows.length === 1 ? sqlText`limit 1` : sqlText``;
  const { key } = entitlements;
  const { activatedAt, duration, entitlementId, expiresAt } = grants;
  const others = sqlText`from ${grants} where ${entitlementId} = held.id and ${isLive}`;
  const told = sqlText`app_now() + (${duration} + ${ctx.timing.callTimeout}) * interval '1 millisecond'`;
  const names = sqlText`jsonb_build_array(jsonb_build_object('identity', identity, 'access', access))`;
  const waitingFor = `the provider ${[...new Set(rows.map(({ provider }) => provider))].join(', ')}`;
  const until = approved?.until?.toISOString() ?? null;
  const written = {
    before: [
      sqlText`configured as (update ${catalogs} set source = source where false)`,
      sqlText`planned as (
        select * from jsonb_to_recordset(${JSON.stringify(texts)}::text::jsonb) as one (id uuid, grant_id uuid, key text,
          provider text, identity text, known_as jsonb, access jsonb, target text, subject jsonb, address text, placed boolean) ${only})`,
      // While grants wait after a restore, the intent is written and nothing is claimed.
      sqlText`permitted as materialized (select not ${grantsWait} as granting)`,
      sqlText`known as (select id, xmin as version from ${entitlements} where ${key} in (select key from planned))`,
    ],
    // The cleanup of an execution that is to end gets no access.
    when: sqlText`cancel_requested_at is null and (select max(version) from ${catalogs}) = ${intention.catalogVersion}::int
      ${locked ? sqlText`` : sqlText`and not exists (select from ${executions} e where e.id = ${executionId}::uuid and e.extends_id is not null)`}
      ${approved ? sqlText`and approvals_are(${executionId}::uuid, ${approved.are}) and coalesce(${until}::timestamptz > app_now(), true)` : sqlText``}`,
    after: [
      sqlText`held as (
        insert into ${entitlements} as e (id, key, provider, target, subject, address, identity, access, names, state, due_at,
          lease_until, fence, claim, last_grant_call_at, open_calls)
        select planned.id, key, provider, target, subject, address, identity, access, ${names}, 'granting',
          case when placed and granting then ${lease} else app_now() end, case when placed and granting then ${lease} end,
          case when placed and granting then 1 else 0 end,
          case when placed and granting then ${placed.claimId}::text || ' 1' end,
          case when placed and granting then app_now() end, (placed and granting)::int
        from moved, planned, permitted order by key
        on conflict (key) do update set state = 'granting', target = excluded.target, subject = excluded.subject,
          provider = case when e.state = 'absent' or e.provider = excluded.provider then excluded.provider else '' end,
          address = excluded.address,
          identity = case when e.state = 'absent' then excluded.identity else e.identity end,
          access = case when e.state = 'absent' then excluded.access else e.access end,
          names = case when e.state = 'absent' then excluded.names
            when exists (select from jsonb_array_elements(e.names) as one where one = excluded.names -> 0) then e.names
            else e.names || excluded.names end,
          failures = 0, last_error = null, pending = null, left_to_others = null, accepted = null,
          (due_at, lease_until, fence, claim, last_grant_call_at, open_calls) = (
            select case when claims then excluded.due_at else app_now() end,
              case when claims then excluded.lease_until else e.lease_until end, e.fence + claims::int,
              case when claims then ${placed.claimId}::text || ' ' || (e.fence + 1) else e.claim end,
              case when claims then app_now() else e.last_grant_call_at end, e.open_calls + claims::int
            from (select excluded.lease_until is not null and (e.lease_until is null or e.lease_until <= app_now())
              and coalesce(e.xmin = (select known.version from known where known.id = e.id), false) as claims offset 0) as judged)
        returning e.*)`,
      // The duration of a grant starts when it is active. Until then it waits for the provider, but never longer than its
      // approval lasts.
      sqlText`intended as (
        insert into ${grants} (id, execution_id, step_key, entitlement_id, user_id, through, identity, access, known_as, duration, activate_by)
        select planned.grant_id, moved.id, ${stepKey}::text, held.id, ${userId}::uuid, planned.provider, planned.identity, planned.access, planned.known_as, ${plan.duration}::bigint,
          least(app_now() + ${interval(plan.duration + ctx.timing.activation)}, ${until}::timestamptz)
        from moved, planned join held using (key))`,
    ],
    entries: intendedEntries(
      intention,
      rows,
      rows.map(({ id }) => id),
    ),
    entitlement: sqlText`(select held.id from held join planned using (key) where planned.id = entry.entitlement_id)`,
    waitingFor,
    // A claim makes a row due at the end of its lease; every other row is due now.
    returning: sqlText`
      select held.id, held.key, provider, names::text, target, subject::text, fence, failures,
        last_grant_call_at as called, open_calls, accepted, app_now() as now, ${rememberedOf('held')} as remembered,
        greatest(app_now() + ${interval(plan.duration + ctx.timing.callTimeout)},
          (select max(case when ${activatedAt} is null then ${told} else ${expiresAt} end) ${others})) as until,
        coalesce((select false ${others} and ${activatedAt} is null limit 1), true) as alone,
        coalesce(due_at = lease_until and due_at > app_now(), false) as claimed,
        (select count(*) from notified)
      from held order by held.key`,
  };
  if (intention.pending) return writing(ctx, intention.pending, written);
  // The process that records the grant wakes the step; the step wakes after this time if that process cannot.
  const call = { executionId, key: stepKey, attempt: intention.attempt };
  return parkingWith(ctx, call, { ...written, next: ctx.timing.lease });
}

/** Returns whether the database rejected an intent because the access is held, or may be, through another provider. */
export function isOfAnother(error: unknown): boolean {
  return causesOf(error).some(
    (one) => 'constraint_name' in one && one.constraint_name === 'entitlement_is_of_one_provider',
  );
}

/** Keeps what an intent has claimed and made due. Returns the ids of its entitlements. */
export function keepIntent(
  { executionId, stepKey, plan }: Intention,
  rows: readonly PlannedRow[],
  written: readonly IntentRow[],
  places: Places,
): string[] {
  places.keep(
    written.flatMap((row) => {
      const one = rows.find(({ key }) => key === row.key);
      if (!one || !row.claimed) return [];
      const concern = { execution_id: executionId, step_key: stepKey, duration: plan.duration, of_step: rows.length };
      const concerns = row.alone ? JSON.stringify([concern]) : null;
      const name = JSON.stringify({ identity: one.identity, access: one.access });
      const claim = claimOf({ ...row, task: 'grant', concerns, name }, places.openedAt);
      return [{ reserved: one.id, claim }];
    }),
    written.map(({ id, provider }) => ({ queue: 'entitlements', entitlementId: id, provider, task: 'grant' })),
  );
  return written.map(({ id }) => id);
}
