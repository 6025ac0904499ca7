import { isOutage } from '@belay/contract/outage';
import { catalogs, entitlements, executeBeside, executions, grants, type SqlText, sqlText } from '@belay/db';
import { isWhole, type PreparedMove, retryDeadlock, writing } from '@belay/engine';
import type { Store } from '../context.js';
import { type ClaimRow, claimOf } from './claim.js';
import { decideIntent, type Held } from './decide.js';
import { type Intention, intendedEntries, type PlannedRow } from './intention.js';
import { freeLostClaim } from './lost-claims.js';
import type { Places } from './places.js';
import { grantsWait } from './restore/gate.js';
import { comparableEmail, entitlementKey, keyByNames } from './rows.js';
import { isLive } from './wanted.js';

/**
 * Writes an intent with the first move of its execution and the claim of its grants, in one statement that commits
 * itself. Returns the ids of the entitlements. Returns null, and writes nothing, for any other move, for an extension,
 * when an entitlement needs a closer check, or when the configuration or the execution has changed: then `intendGrants`
 * checks under the locks.
 *
 * The statement reads nothing that requires an earlier lock. An execution before its first move has no approvals. What
 * is written to an entitlement depends on the locked row; it is claimed only when that row is the one in the
 * statement's snapshot, because then its other grants are in the snapshot too (decision 0070). The table of
 * configurations is locked when the statement starts, before PostgreSQL takes its snapshot.
 */
export async function intendWithMove(
  ctx: Store,
  intention: Intention,
  { planned, held, places }: { planned: readonly PlannedRow[]; held: readonly Held[]; places: Places },
): Promise<string[] | null> {
  const { pending } = intention;
  if (pending?.version !== 0 || !isWhole(pending)) return null;
  const absent = { state: 'absent' as const, lastGrantCallAt: null };
  if (held.some((seen) => decideIntent(absent, seen) === 'refuse')) return null;
  const rows = planned.map((one) => ({ ...one, key: entitlementKey(one.provider, one.pin) }));
  if (new Set(rows.map(({ key }) => key)).size < rows.length) return null;
  const placed = places.reserve(rows, 'grant');
  const keys = [intention.executionId, ...rows.map(({ key }) => key)];
  const statement = intending(ctx, intention, pending, rows, { ids: placed, claimId: places.claimId });
  const written = await retryDeadlock(() => executeBeside<Row>(ctx.db, statement, keys)).catch((error: unknown) => {
    if (placed.size > 0 && isOutage(error)) freeLostClaim(ctx, places.claimId);
    throw error;
  });
  if (written.length === 0) return null;
  const of = (row: Row) => rows.find(({ key }) => key === row.key);
  places.keep(
    written.flatMap((row) => {
      const one = of(row);
      if (!one || !row.claimed) return [];
      const { executionId: execution_id, stepKey: step_key, plan } = intention;
      const concern = { execution_id, step_key, duration: plan.duration, of_step: rows.length };
      const concerns = row.alone ? JSON.stringify([concern]) : null;
      const claim = claimOf({ ...row, task: 'grant', concerns }, places.openedAt);
      return [{ reserved: one.id, claim }];
    }),
    written.map(({ id, provider }) => ({ queue: 'entitlements', entitlementId: id, provider, task: 'grant' })),
  );
  return written.map(({ id }) => id);
}

type Row = Omit<ClaimRow, 'task' | 'concerns'> & { key: string; claimed: boolean; alone: boolean };

function intending(
  ctx: Store,
  intention: Intention,
  move: PreparedMove,
  rows: readonly (PlannedRow & { key: string })[],
  placed: { ids: ReadonlySet<string>; claimId: string },
): SqlText {
  const { plan, stepKey, userId } = intention;
  const interval = (milliseconds: number) => sqlText`${`${milliseconds} milliseconds`}::interval`;
  const lease = sqlText`app_now() + ${interval(ctx.timing.lease)}`;
  const texts = rows.map((one) => ({
    id: one.id,
    grant_id: one.grantId,
    key: one.key,
    provider: one.provider,
    identity: one.identity,
    identity_email: comparableEmail(one),
    known_as: one.knownAs,
    access: one.access,
    target: one.pin.target,
    subject: one.pin.subject,
    address: one.address,
    placed: placed.ids.has(one.id),
    // The key of a row that is older than pins: `lockEntitlements` may have to adopt the row.
    named: keyByNames(one),
  }));
  // Most intents have one grant. Without the limit, the planner assumes a hundred rows for a list of unknown length, and
  // reads whole tables.
  const only = rows.length === 1 ? sqlText`limit 1` : sqlText``;
  const { key, state } = entitlements;
  const { activatedAt, duration, entitlementId, expiresAt } = grants;
  const others = sqlText`from ${grants} where ${entitlementId} = held.id and ${isLive}`;
  const told = sqlText`app_now() + (${duration} + ${ctx.timing.callTimeout}) * interval '1 millisecond'`;
  const providers = [...new Set(rows.map(({ provider }) => provider))].join(', ');
  return writing(ctx, move, {
    before: [
      sqlText`configured as (update ${catalogs} set source = source where false)`,
      sqlText`planned as (
        select * from jsonb_to_recordset(${JSON.stringify(texts)}::text::jsonb) as one (id uuid, grant_id uuid, key text,
          provider text, identity text, identity_email text, known_as jsonb, access jsonb, target text, subject jsonb, address text, placed boolean, named text) ${only})`,
      // While grants wait after a restore, the intent is written and nothing is claimed.
      sqlText`permitted as materialized (select not ${grantsWait} as granting)`,
      sqlText`known as (select id, xmin as version from ${entitlements} where ${key} in (select key from planned))`,
    ],
    // An extension first has to lock the execution that it extends: `intendGrants` does that.
    when: sqlText`(select max(version) from ${catalogs}) = ${intention.catalogVersion}::int
      and not exists (select from ${executions} e where e.id = ${intention.executionId}::uuid and e.extends_id is not null)
      and not exists (select from planned join ${entitlements} on ${key} = planned.named where ${state} <> 'absent')`,
    after: [
      sqlText`held as (
        insert into ${entitlements} as e (id, key, provider, target, subject, address, identity, identity_email, access, state, due_at,
          lease_until, fence, claim, last_grant_call_at)
        select planned.id, key, provider, target, subject, address, identity, identity_email, access, 'granting',
          case when placed and granting then ${lease} else app_now() end, case when placed and granting then ${lease} end,
          case when placed and granting then 1 else 0 end,
          case when placed and granting then ${placed.claimId}::text || ' 1' end,
          case when placed and granting then app_now() end
        from moved, planned, permitted order by key
        on conflict (key) do update set state = 'granting', target = excluded.target, subject = excluded.subject,
          address = excluded.address, identity = excluded.identity,
          identity_email = excluded.identity_email, access = excluded.access, failures = 0, last_error = null, pending = null,
          (due_at, lease_until, fence, claim, last_grant_call_at) = (
            select case when claims then excluded.due_at else app_now() end,
              case when claims then excluded.lease_until else e.lease_until end, e.fence + claims::int,
              case when claims then ${placed.claimId}::text || ' ' || (e.fence + 1) else e.claim end,
              case when claims then app_now() else e.last_grant_call_at end
            from (select excluded.lease_until is not null and (e.lease_until is null or e.lease_until <= app_now())
              and coalesce(e.xmin = (select known.version from known where known.id = e.id), false) as claims offset 0) as judged)
        returning e.*)`,
      sqlText`intended as (
        insert into ${grants} (id, execution_id, step_key, entitlement_id, user_id, known_as, duration, activate_by)
        select planned.grant_id, moved.id, ${stepKey}::text, held.id, ${userId}::uuid, planned.known_as, ${plan.duration}::bigint,
          app_now() + ${interval(plan.duration + ctx.timing.activation)}
        from moved, planned join held using (key))`,
    ],
    entries: intendedEntries(
      intention,
      rows,
      rows.map(({ id }) => id),
    ),
    entitlement: sqlText`(select held.id from held join planned using (key) where planned.id = entry.entitlement_id)`,
    waitingFor: `the provider ${providers}`,
    // A claim makes a row due at the end of its lease; every other row is due now.
    returning: sqlText`
      select held.id, held.key, provider, identity, access::text, target, subject::text, fence, failures,
        last_grant_call_at as called, app_now() as now,
        greatest(app_now() + ${interval(plan.duration + ctx.timing.callTimeout)},
          (select max(case when ${activatedAt} is null then ${told} else ${expiresAt} end) ${others})) as until,
        coalesce((select false ${others} and ${activatedAt} is null limit 1), true) as alone,
        coalesce(due_at = lease_until and due_at > app_now(), false) as claimed,
        (select count(*) from notified)
      from held order by held.key`,
  });
}
