import {
  type EntitlementState,
  entitlements,
  executeFor,
  executions,
  grants,
  joinTexts,
  rawText,
  type SqlText,
  sqlText,
} from '@belay/db';
import { retryDeadlock, wakeSteps } from '@belay/engine';
import type { Job, Store } from '../context.js';
import { notifying, writingLedger } from '../ledger/append.js';
import type { Claimed } from './claimed.js';
import { decideGranted, decideRevoked, type Held } from './decide.js';
import { expiryFrom, isLive, isOver } from './wanted.js';

/** A call that returned, and what was read back after it. */
export interface Called {
  claim: Claimed;
  held: Held;
  /** What the connector declares of its calls (`Authorizer.neverLate`). */
  neverLate: boolean;
  /** How far the history of the target was at the read-back; null when that cannot be told. */
  position: string | null;
}

/** Which claims were recorded; `woken` resolves when the steps that waited for them were checked or made due. */
export interface Recorded {
  ids: ReadonlySet<string>;
  woken: Promise<void>;
}

/**
 * Records confirmed calls of one kind, in one statement that commits itself: the provider holds what was granted, or no
 * longer holds what was revoked. A call is recorded only with its own fence; the others are missing in the result, and
 * may have landed late (`recordLate`). `hurried`: see `executeFor`.
 */
export async function recordResults(
  ctx: Store,
  task: Claimed['task'],
  group: readonly Called[],
  hurried: boolean,
): Promise<Recorded> {
  const rows = await retryDeadlock(() => recordCalls(ctx, task, group, hurried));
  tellMeter(ctx, task, rows);
  ctx.crashpoint(`${task} recorded`);
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

/** Writes confirmed calls in one statement that commits itself. */
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

/** The parts of a record. */
export interface Recording {
  /**
   * The expressions that lock; the last is `judged`: the rows that have the fence of their claim, and what is written to
   * them. `settled`: the row is as the claim left it, so that the result counts.
   */
  locks: SqlText[];
  /** The expressions that write to these rows, and `told`, which writes the ledger entries. */
  writes: SqlText[];
  /** The columns of `RecordedRow`; more columns may follow, then `from`. */
  columns: SqlText;
  from: SqlText;
}

/**
 * One row for each changed grant, with the seconds until it was active or gone; one row without them for an entitlement
 * without a changed grant. `execution`: for a revocation also null when that execution has ended.
 */
export type RecordedRow = { id: string; due: string; execution: string | null; seconds: string | number | null };

/**
 * Returns the record of confirmed calls, as a part of a statement. `before`: the condition before anything is locked;
 * `then`: the condition before anything is written. `at`: when grants become active; null for now.
 *
 * The statement sees the grants as of its start, and the rows that it locks as they are (decision 0070). Every change of
 * what is wanted also makes the entitlement due, so in a row that is still due at the end of its lease the grants are
 * those of the snapshot, and only such a row is settled. Every other row is released and made due: the next claim decides.
 * Grants that wait are locked, so that their clocks start in both cases.
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
  const part = task === 'grant' ? startingGrants(at) : losingAccess(ctx);
  const only = onlyOf(calls);
  const { entitlementId, id } = grants;
  const called = sqlText`called as (${relation(calls, [
    ['claim', 'uuid', ({ claim }) => claim.id],
    ['fence', 'int', ({ claim }) => claim.fence],
    ['started', 'timestamptz', ({ claim }) => claim.startedAt.toISOString()],
    ['verified', 'boolean', ({ held }) => held !== 'unknown'],
    ['reached', 'text', ({ position }) => (position === null ? 'null' : JSON.stringify(position))],
    ...part.called,
  ])})`;
  // Lock order: grants, then entitlements, each in the order of their ids.
  const locks = sqlText`
    touched as (
      select ${id}, ${grants.executionId}, ${entitlementId}, ${part.ends} as ends from ${grants} join called on ${entitlementId} = called.claim
      where ${part.touches} ${only(entitlementId)} and ${before}
      order by ${id} for update of ${grants}),
    locked as (
      select e.id, e.provider, e.state, e.due_at is distinct from e.lease_until as disturbed, called.*
      from ${entitlements} e join called on e.id = called.claim
      where (select count(*) from touched) >= 0 and e.fence = called.fence ${only(sqlText`e.id`)} and ${before}
      order by e.id for update of e),
    judged as materialized (
      select locked.*, decided.next, ${part.settled} as settled,
        -- A repeated call is paced, and a call of the other kind is due now. In a row that is not settled, only this pause
        -- depends on the snapshot.
        case when ${part.settled} then ${part.due}
          when ${part.repeats} then greatest(app_now(), started + ${`${ctx.timing.repeat} milliseconds`}::interval)
          else app_now() end as due
      -- \`offset 0\`: written once for each place that names it, the decision would take twenty times as long to plan.
      from locked cross join lateral (${part.seen} offset 0) as seen
        cross join lateral (select ${part.decision} as next offset 0) as decided
      where decided.next is not null)`;
  const state = sqlText`case judged.next when 'again' then ${part.again} else ${part.state} end`;
  const writes = sqlText`
    recorded as (
      update ${entitlements} e set state = ${state}, due_at = judged.due,
        lease_until = null, failures = 0, last_error = null, pending = null, elsewhere = false, left_to_others = null,
        position = coalesce(judged.reached, e.position), recorded_at = app_now(),
        last_grant_call_at = case when ${state} = 'absent' then null else e.last_grant_call_at end,
        accepted = case when ${state} = 'absent' then null else e.accepted end,
        -- Only a call's own record, read back as held, ends its count; the lease shows that it was not recorded before.
        open_calls = case when ${state} = 'absent' then 0 else e.open_calls - (${part.counts} and e.lease_until is not null)::int end
      from judged where e.id = judged.id and ${then}
      returning e.id, e.due_at, settled),
    changed as (
      update ${grants} g set ${part.change}
      from touched join recorded on recorded.id = touched.entitlement_id where g.id = touched.id and ${part.changes}
      returning g.entitlement_id, g.execution_id, g.user_id, g.identity, g.expires_at, ${part.seconds} as seconds),
    told as (${writingLedger(sqlText`
      select ${part.type}, 'info', changed.identity || ${part.message}, '{"system": "reconcile"}'::jsonb, changed.user_id,
        locked.provider, changed.execution_id, locked.id, jsonb_build_object('verified', locked.verified)
      from changed join locked on locked.id = changed.entitlement_id`)})`;
  return {
    locks: [called, locks],
    writes: [writes],
    columns: sqlText`recorded.id, recorded.due_at as due, ${part.execution} as execution, changed.seconds`,
    from: sqlText`from recorded left join changed on changed.entitlement_id = recorded.id`,
  };
}

type Columns = readonly [name: string, type: string, value: (row: Called) => unknown][];

/** What the record of a grant and that of a revocation differ in. */
interface Part {
  /** Further columns of `called`. */
  called: Columns;
  /** Which grants of the entitlement are locked, and when their time ends. */
  touches: SqlText;
  ends: SqlText;
  /** A query of one row about the grants, as of the start of the statement. */
  seen: SqlText;
  /** The decision for a row of `locked`, of decide.ts. */
  decision: SqlText;
  settled: SqlText;
  /** Whether the next call of a row that is not settled is of the same kind. */
  repeats: SqlText;
  /** The state that follows the decision `again`, and any other one. */
  again: SqlText;
  state: SqlText;
  /** Whether the record ends the count of an open grant call. */
  counts: SqlText;
  /** When a settled row is due. */
  due: SqlText;
  /** What is written to the locked grants, and to which of them. */
  change: SqlText;
  changes: SqlText;
  seconds: SqlText;
  type: SqlText;
  /** The ledger's message, after the identity. */
  message: SqlText;
  execution: SqlText;
}

/** Returns a decision for every state as SQL: one branch for each combination of the state with a condition. */
function decisionOf(
  decide: (state: EntitlementState) => readonly (readonly [condition: string, next: string | undefined])[],
): SqlText {
  const branches = (['absent', 'granting', 'granted', 'revoking'] as const).flatMap((state) =>
    decide(state).flatMap(([condition, next]) =>
      next === undefined ? [] : [`when locked.state = '${state}' and ${condition} then '${next}'`],
    ),
  );
  return rawText(`case ${branches.join(' ')} end`);
}

const not = (condition: string, holds: boolean): string => (holds ? condition : `not ${condition}`);

const grantDecision = decisionOf((state) =>
  [true, false].map((changed) => [
    not('seen.changed', changed),
    decideGranted({ state }, { held: true, changed }) ?? undefined,
  ]),
);

/** `absent` here means that the revocation counts; the second one that R5 may owe is a value of each call. */
const revokeDecision = decisionOf((state) =>
  [true, false].flatMap((wanted) =>
    [true, false].map((disturbed) => [
      `${not('seen.wanted', wanted)} and ${not('locked.disturbed', disturbed)}`,
      decideRevoked(
        { state, lastGrantCallAt: null, openCalls: 0 },
        { startedAt: 0, quarantine: 0, neverLate: false, wanted, disturbed },
      )?.state,
    ]),
  ),
);

/** Starts the clocks of the waiting grants, and makes each settled entitlement due when the first of its live grants ends. */
function startingGrants(at: Date | null): Part {
  const { activatedAt, duration, entitlementId, expiresAt } = grants;
  const active = sqlText`coalesce(${at?.toISOString() ?? null}::timestamptz, app_now())`;
  return {
    called: [['until', 'timestamptz', ({ claim }) => claim.until.toISOString()]],
    touches: sqlText`${activatedAt} is null and ${isLive}`,
    ends: expiryFrom(active, sqlText`${duration}`),
    // The provider has to be told of an end that is later than the one that it has.
    seen: sqlText`
      select least(min(ends), (select min(${expiresAt}) from ${grants}
          where ${entitlementId} = locked.id and ${activatedAt} is not null and ${isLive})) as ends,
        locked.disturbed or coalesce(max(ends) > locked.until, false) as changed
      from touched where entitlement_id = locked.id`,
    decision: grantDecision,
    settled: sqlText`(decided.next = 'granted')`,
    repeats: sqlText`seen.ends is not null`,
    again: sqlText`'granting'`,
    state: sqlText`judged.next`,
    counts: sqlText`judged.verified`,
    due: sqlText`coalesce(seen.ends, app_now())`,
    change: sqlText`activated_at = ${active}, expires_at = touched.ends`,
    changes: sqlText`true`,
    seconds: sqlText`extract(epoch from g.activated_at - g.created_at)`,
    type: sqlText`'entitlement.granted'`,
    message: sqlText`' holds the access at ' || locked.provider || ' until ' || ${iso(sqlText`changed.expires_at`)}`,
    execution: sqlText`changed.execution_id`,
  };
}

/** Records that the access is gone: finally, or until the second revoke that R5 owes. */
function losingAccess({ timing: { quarantine } }: Store): Part {
  const { entitlementId, goneAt } = grants;
  const quiet = ({ claim: { generation, openCalls, startedAt }, neverLate }: Called) => {
    const lastGrantCallAt = generation === null ? null : Date.parse(generation);
    const call = { startedAt: startedAt.getTime(), wanted: false, disturbed: false, quarantine, neverLate };
    const decision = decideRevoked({ state: 'revoking', lastGrantCallAt, openCalls }, call);
    return decision?.state === 'revoking' ? new Date(decision.notBefore).toISOString() : null;
  };
  return {
    // When R5 owes the second revoke.
    called: [['quiet', 'timestamptz', quiet]],
    touches: sqlText`${goneAt} is null and ${isOver}`,
    ends: sqlText`null::timestamptz`,
    seen: sqlText`select exists (select from ${grants} where ${entitlementId} = locked.id and ${isLive}) as wanted`,
    decision: revokeDecision,
    settled: sqlText`(decided.next = 'absent')`,
    repeats: sqlText`decided.next = 'again'`,
    again: sqlText`'revoking'`,
    state: sqlText`case when judged.next = 'absent' and judged.quiet is not null then 'revoking' else judged.next end`,
    counts: sqlText`false`,
    due: sqlText`coalesce(locked.quiet, app_now())`,
    change: sqlText`gone_at = app_now()`,
    changes: sqlText`recorded.settled`,
    seconds: sqlText`extract(epoch from g.gone_at - least(g.ended_at, g.expires_at))`,
    type: sqlText`'entitlement.revoked'`,
    message: sqlText`' no longer holds the access at ' || locked.provider`,
    // An execution that has ended waits for nothing.
    execution: sqlText`(select id from ${executions} where id = changed.execution_id and ended_at is null)`,
  };
}

/**
 * Returns rows as a relation: one parameter per column, so that the statement is prepared once for every number of
 * rows.
 */
function relation(rows: readonly Called[], columns: Columns): SqlText {
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
function onlyOf([one, ...others]: readonly Called[]): (column: SqlText | typeof grants.entitlementId) => SqlText {
  return (column) => (one && others.length === 0 ? sqlText`and ${column} = ${one.claim.id}::uuid` : sqlText``);
}

/** Returns a time in the format of `toISOString`. */
function iso(time: SqlText): SqlText {
  return sqlText`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
