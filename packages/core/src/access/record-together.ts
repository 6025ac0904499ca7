import { entitlements, executeFor, executions, grants, joinTexts, rawText, type SqlText, sqlText } from '@belay/db';
import { retryDeadlock, wakeSteps } from '@belay/engine';
import type { Job, Store } from '../context.js';
import { notifying, writingLedger } from '../ledger/append.js';
import type { Claimed } from './claimed.js';
import { decideRevoked, type Held, isAsClaimed } from './decide.js';
import { isLive, isOver } from './wanted.js';

/** A call that returned, and what was read back after it. */
export interface Called {
  claim: Claimed;
  held: Held;
}

/** Which claims were recorded; `woken` resolves when the steps that waited for them were checked or made due. */
export interface Recorded {
  ids: ReadonlySet<string>;
  woken: Promise<void>;
}

/**
 * Records calls of one kind with the expected result, in one statement that commits itself: the provider holds what was
 * granted, or no longer holds what was revoked. The decision relies on the rows being as the claim left them: every
 * change of an entitlement changes its fence, state or due time, and a grant that is over becomes wanted again only
 * when a clock is set back. Other rows are left out, and so are calls with another result: they are recorded one by one,
 * under their locks.
 * `hurried`: see `executeFor`.
 */
export async function recordTogether(
  ctx: Store,
  task: Claimed['task'],
  group: readonly Called[],
  hurried: boolean,
): Promise<Recorded> {
  const expected = group.filter(({ claim, held }) => isAsClaimed(claim.task, held));
  if (expected.length === 0) return { ids: new Set(), woken: Promise.resolve() };
  const rows = await retryDeadlock(() => recordCalls(ctx, task, expected, hurried));
  tellMeter(ctx, task, rows);
  ctx.crashpoint(task === 'grant' ? 'grant recorded' : 'revoke recorded');
  const providers = new Map(group.map(({ claim }) => [claim.id, claim.provider]));
  const due = new Map(rows.map((row) => [row.id, new Date(row.due)]));
  ctx.waker.wake(
    [...due].map(
      ([entitlementId, dueAt]): Job => ({
        queue: 'entitlements',
        entitlementId,
        provider: providers.get(entitlementId) ?? '',
        dueAt,
      }),
    ),
  );
  const executionIds = rows.flatMap(({ execution }) => (execution === null ? [] : [execution]));
  return { ids: new Set(due.keys()), woken: wakeSteps(ctx, executionIds) };
}

/** Reports to the meter how long grants took to start, or to be gone. */
export function tellMeter(
  { meter }: Store,
  task: Claimed['task'],
  recorded: readonly { seconds: string | number | null }[],
): void {
  for (const { seconds } of recorded) {
    if (seconds === null) continue;
    if (task === 'grant') meter?.granted(Number(seconds));
    else meter?.revoked(Number(seconds));
  }
}

/** The parts of a record. */
export interface Recording {
  /** The expressions that lock; the last is `locked`: the rows that are as their claims left them. */
  locks: SqlText[];
  /** The expressions that write to these rows, and `told`, which writes the ledger entries. */
  writes: SqlText[];
  /** The columns of `RecordedRow`; more columns may follow, then `from`. */
  columns: SqlText;
  from: SqlText;
}

/** Writes calls with the expected result, in one statement that commits itself. */
function recordCalls(
  ctx: Store,
  task: Claimed['task'],
  calls: readonly Called[],
  hurried: boolean,
): Promise<RecordedRow[]> {
  const { locks, writes, columns, from } = recording(ctx, task, calls);
  return executeFor<RecordedRow>(
    ctx.db,
    sqlText`
    with ${joinTexts([...locks, ...writes], ', ')}, notified as (${notifying()})
    select ${columns}, (select count(*) from notified) ${from}`,
    hurried,
  );
}

/**
 * Returns the record of calls with the expected result, as a part of a statement. `before`: the condition before
 * anything is locked; `then`: the condition before anything is written. `at`: when grants become active; null for now.
 */
export function recording(
  ctx: Store,
  task: Claimed['task'],
  calls: readonly Called[],
  {
    at = null,
    before = sqlText`true`,
    then = sqlText`true`,
  }: { at?: Date | null; before?: SqlText; then?: SqlText } = {},
): Recording {
  const gates = { before: sqlText`and ${before}`, then: sqlText`and ${then}` };
  return task === 'grant' ? recordingGrants(calls, at, gates) : recordingRevocations(ctx, calls, gates);
}

/**
 * One row for each changed grant, with the seconds until it was active or gone; one row without them for an entitlement
 * without a changed grant. `execution`: for a revocation also null when that execution has ended.
 */
export type RecordedRow = { id: string; due: string; execution: string | null; seconds: string | number | null };

const actor = sqlText`'{"system": "reconcile"}'::jsonb`;

type Gates = { before: SqlText; then: SqlText };

/**
 * Returns rows as a relation: one parameter per column, so that the statement is prepared once for every number of
 * rows.
 */
function relation<T>(
  rows: readonly T[],
  columns: readonly [name: string, type: string, value: (row: T) => unknown][],
): SqlText {
  const lists = columns.map(([, type, value]) => {
    const text = `{${rows.map((row) => String(value(row))).join(',')}}`;
    return sqlText`${text}::text::${rawText(type)}[]`;
  });
  return sqlText`select * from unnest(${joinTexts(lists, ', ')}) as called (${rawText(columns.map(([name]) => name).join(', '))})`;
}

/**
 * Restricts the record of a single call to its entitlement, so that its rows are found by the id of the entitlement,
 * regardless of the number of live grants.
 */
function onlyOf([one, ...others]: readonly { claim: Claimed }[], column: SqlText): SqlText {
  return one && others.length === 0 ? sqlText`and ${column} = ${one.claim.id}::uuid` : sqlText``;
}

/** Locks the rows that are as their claims left them. Lock order: `earlier` is the expression that locks the grants. */
function lockedAs(state: 'granting' | 'revoking', earlier: 'starting' | 'over', also: SqlText): SqlText {
  return sqlText`
    locked as (
      select e.id, e.provider, e.identity, called.* from ${entitlements} e join called on e.id = called.claim
      where (select count(*) from ${rawText(earlier)}) >= 0 and e.fence = called.fence and e.state = ${state}
        and e.due_at = e.lease_until ${also}
      order by e.id for update of e)`;
}

/** Starts the clocks of the waiting grants, and makes each entitlement due when the first of its live grants ends. */
function recordingGrants(group: readonly Called[], at: Date | null, gates: Gates): Recording {
  const { activatedAt, duration, entitlementId, expiresAt, id } = grants;
  const active = sqlText`coalesce(${at?.toISOString() ?? null}::timestamptz, app_now())`;
  const called = sqlText`called as (${relation(group, [
    ['claim', 'uuid', ({ claim }) => claim.id],
    ['fence', 'int', ({ claim }) => claim.fence],
    ['until', 'timestamptz', ({ claim }) => claim.until.toISOString()],
    ['verified', 'boolean', ({ held }) => held === true],
  ])})`;
  const locks = sqlText`
    starting as (
      select ${id}, ${grants.executionId}, ${entitlementId}, (${active} + ${duration} * interval '1 millisecond')::timestamptz(3) as ends
      from ${grants} join called on ${entitlementId} = called.claim
      where ${activatedAt} is null and ${isLive} ${onlyOf(group, sqlText`${entitlementId}`)} ${gates.before}
      order by ${id} for update of ${grants}),
    ${lockedAs(
      'granting',
      'starting',
      // An end that is later than the one the provider has must be sent to the provider first.
      sqlText`and not exists (select 1 from starting where entitlement_id = e.id and ends > called.until)
        ${onlyOf(group, sqlText`e.id`)} ${gates.before}`,
    )}`;
  const writes = sqlText`
    recorded as (
      update ${entitlements} e set state = 'granted', lease_until = null, failures = 0, last_error = null, pending = null, elsewhere = false,
        due_at = coalesce(least(
          (select min(ends) from starting where entitlement_id = e.id),
          (select min(${expiresAt}) from ${grants} where ${entitlementId} = e.id and ${activatedAt} is not null and ${isLive})
        ), app_now())
      from locked where e.id = locked.id ${gates.then}
      returning e.id, e.due_at),
    active as (
      update ${grants} g set activated_at = ${active}, expires_at = starting.ends
      from starting join recorded on recorded.id = starting.entitlement_id where g.id = starting.id
      returning g.entitlement_id, g.execution_id, g.user_id, g.expires_at, ${takenToGrant} as seconds),
    told as (${writingLedger(sqlText`
      select 'entitlement.granted', 'info',
        locked.identity || ' holds the access at ' || locked.provider || ' until ' || ${iso(sqlText`active.expires_at`)},
        ${actor}, active.user_id, locked.provider, active.execution_id, locked.id,
        jsonb_build_object('verified', locked.verified)
      from active join locked on locked.id = active.entitlement_id`)})`;
  return {
    locks: [called, locks],
    writes: [writes],
    columns: sqlText`recorded.id, recorded.due_at as due, active.execution_id as execution, active.seconds`,
    from: sqlText`from recorded left join active on active.entitlement_id = recorded.id`,
  };
}

/** Records that the access is gone: finally, or until the second revoke that R5 owes. */
function recordingRevocations(ctx: Store, group: readonly Called[], gates: Gates): Recording {
  const { quarantine } = ctx.timing;
  const decided = group.map(({ claim, held }) => {
    const lastGrantCallAt = claim.generation === null ? null : Date.parse(claim.generation);
    const startedAt = claim.startedAt.getTime();
    const call = { startedAt, wanted: false, disturbed: false, quarantine };
    const decision = decideRevoked({ state: 'revoking', lastGrantCallAt }, call);
    const again = decision?.state === 'revoking' ? new Date(decision.notBefore).toISOString() : null;
    return { claim, held, again };
  });
  const { entitlementId, goneAt, id } = grants;
  const called = sqlText`called as (${relation(decided, [
    ['claim', 'uuid', ({ claim }) => claim.id],
    ['fence', 'int', ({ claim }) => claim.fence],
    ['again', 'timestamptz', ({ again }) => again],
    ['verified', 'boolean', ({ held }) => held === false],
  ])})`;
  const locks = sqlText`
    over as (
      select ${id}, ${entitlementId} from ${grants} join called on ${entitlementId} = called.claim
      where ${goneAt} is null and ${isOver} ${onlyOf(group, sqlText`${entitlementId}`)} ${gates.before}
      order by ${id} for update of ${grants}),
    ${lockedAs(
      'revoking',
      'over',
      // When the clock was set back since the claim, a grant that was over can be live again.
      sqlText`and not exists (select 1 from ${grants} where ${entitlementId} = e.id and ${isLive})
        ${onlyOf(group, sqlText`e.id`)} ${gates.before}`,
    )}`;
  const writes = sqlText`
    recorded as (
      update ${entitlements} e set state = case when locked.again is null then 'absent' else 'revoking' end,
        lease_until = null, failures = 0, last_error = null, pending = null, elsewhere = false, due_at = coalesce(locked.again, app_now()),
        last_grant_call_at = case when locked.again is null then null else e.last_grant_call_at end
      from locked where e.id = locked.id ${gates.then}
      returning e.id, e.due_at),
    gone as (
      update ${grants} g set gone_at = app_now()
      from over join recorded on recorded.id = over.entitlement_id where g.id = over.id
      returning g.entitlement_id, g.execution_id, g.user_id, ${takenToRevoke} as seconds),
    told as (${writingLedger(sqlText`
      select 'entitlement.revoked', 'info', locked.identity || ' no longer holds the access at ' || locked.provider,
        ${actor}, gone.user_id, locked.provider, gone.execution_id, locked.id,
        jsonb_build_object('verified', locked.verified)
      from gone join locked on locked.id = gone.entitlement_id`)})`;
  return {
    locks: [called, locks],
    writes: [writes],
    // An execution that has ended waits for nothing.
    columns: sqlText`recorded.id, recorded.due_at as due,
      (select id from ${executions} where id = gone.execution_id and ended_at is null) as execution, gone.seconds`,
    from: sqlText`from recorded left join gone on gone.entitlement_id = recorded.id`,
  };
}

const takenToGrant = sqlText`extract(epoch from g.activated_at - g.created_at)`;
const takenToRevoke = sqlText`extract(epoch from g.gone_at - least(g.ended_at, g.expires_at))`;

/** Returns a time in the format of `toISOString`. */
function iso(time: SqlText): SqlText {
  return sqlText`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
