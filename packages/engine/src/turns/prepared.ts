import {
  executions,
  inOrder,
  joinTexts,
  rawText,
  type SqlText,
  signals,
  sqlText,
  statementOf,
  steps,
  type Transaction,
  taskEvents,
} from '@belay/db';
import { type Step, storeState } from '@belay/workflow';
import { isFinal } from '../final.js';
import type { Actor, CallFunction, EngineStore, Job, Joined, PreparedMove } from '../ports.js';
import { callName } from '../request.js';
import { claimText } from '../steps/lost-claims.js';
import type { Snapshot } from '../steps/snapshot.js';
import { TURN, turnJob } from '../steps/turn-row.js';
import { type Decided, isContinuation } from './decide-turn.js';
import { packTaskEvents, runtime } from './entries.js';
import { keptTaskEvents, taskEventsPerRow } from './task-events.js';

/**
 * Builds a move from what was decided. `claim`: the writer performs the call that the move opens, when there is only one. `keep`:
 * otherwise it takes the next turn too, when there is something left.
 */
export function prepare(
  ctx: EngineStore,
  snapshot: Snapshot,
  decided: Decided,
  { actor = runtime, claim = false, keep = false }: { actor?: Actor; claim?: boolean; keep?: boolean | undefined } = {},
): PreparedMove {
  const { id, ownerId, version } = snapshot;
  const { status, state, output, fault, open, over, consumed } = decided;
  const { entries, told } = packTaskEvents(decided.entries, snapshot.taskEvents);
  const parked = open.filter((step) => parkingOf(ctx, step) !== undefined);
  const calls = open.filter((step) => step.kind === 'call' && !parked.includes(step));
  const call = claim && calls.length === 1 ? calls[0] : undefined;
  const again = decided.unread && !isFinal(status);
  const follows = isFollowed(decided);
  const keeps = keep && !call && follows;
  const next = keeps ? open.find(isContinuation) : call;
  const claimed = next ? { key: next.key, id: ctx.newId() } : null;
  const jobs = jobsOf(
    id,
    open.filter((step) => step.key !== claimed?.key && !parked.includes(step)),
  );
  if (follows && !keeps) jobs.push(turnJob(id));
  return {
    execution: { id, ownerId },
    version,
    status,
    state,
    output,
    fault,
    open,
    parked,
    claimed,
    lease: keeps ? ctx.timing.turnLease : ctx.timing.lease,
    over,
    consumed,
    turn: { seen: snapshot.turn, again },
    entries,
    told: { now: told, after: snapshot.taskEvents + told },
    actor,
    jobs,
  };
}

/** Returns whether something is left for another turn, which is due now. */
export function isFollowed({ left, unread, status }: Decided): boolean {
  return (left || unread) && !isFinal(status);
}

/** Returns a job for every step that can be due, except for the rest of a computation, which is always left for the next turn. */
function jobsOf(executionId: string, open: readonly Step[]): Job[] {
  return open
    .filter((step) => step.kind !== 'event' && !isContinuation(step))
    .map((step) => ({
      queue: 'executions',
      executionId,
      key: step.key,
      ...(step.dueAt ? { dueAt: new Date(step.dueAt) } : {}),
    }));
}

/** Returns how a call that only waits is parked; undefined for every other step. */
function parkingOf(ctx: EngineStore, step: Step): CallFunction['parks'] {
  return step.kind === 'call' ? ctx.host.functions.get(callName(step.request))?.parks : undefined;
}

/** Returns the ids of the claims that a move makes. */
export function claimedIn({ claimed }: PreparedMove): string[] {
  return claimed ? [claimed.id] : [];
}

/** Returns whether a move is written by one statement alone, which needs no transaction. */
export function isWhole({ status, parked, over }: PreparedMove): boolean {
  return !isFinal(status) && parked.length === 0 && !over.some(({ status: how }) => how === 'closed');
}

/**
 * Writes a move in the caller's transaction, and ends what an abandoned execution or an abandoned step holds. Returns
 * false, and writes nothing, when the execution has moved since. `locked`: the caller holds the execution's lock.
 */
export async function writePrepared(
  ctx: EngineStore,
  tx: Transaction,
  move: PreparedMove,
  { locked = false } = {},
): Promise<boolean> {
  const { id: executionId } = move.execution;
  const { status, actor } = move;
  const given = move.over.filter(({ status: how }) => how === 'closed').map(({ key }) => key);
  // A statement that waits for the lock sees the rows from before its wait. So the lock is taken by a statement of its
  // own: the next one sees which approvals it withdraws, and until when it parks calls.
  const lock = statementOf(tx, sqlText`select from ${executions} where id = ${executionId} for update`);
  const [, moved] = await inOrder([locked || isWhole(move) ? undefined : lock, statementOf(tx, writing(ctx, move))]);
  if (moved.length === 0) return false;
  // A step that is closed before it was resolved was abandoned: what it acquired belongs to no step any more.
  if (given.length > 0) {
    move.jobs.push(...(await ctx.host.release(tx, { executionId, stepKeys: given, reason: 'failed', actor })));
  }
  // An execution that completes keeps what it holds until that expires.
  if (status === 'faulted' || status === 'cancelled' || status === 'terminated') {
    move.jobs.push(...(await ctx.host.release(tx, { executionId, reason: status, actor })));
  }
  return true;
}

/** Returns whether a move ends what the execution holds: that is a separate statement (`writePrepared`). */
export function releases({ status, over }: PreparedMove): boolean {
  const abandoned = status === 'faulted' || status === 'cancelled' || status === 'terminated';
  return abandoned || over.some(({ status: how }) => how === 'closed');
}

/**
 * Returns the statement that writes the state, the steps, the withdrawn questions, the inbox and the ledger of a move,
 * and does nothing at another version.
 */
export function writing(ctx: EngineStore, move: PreparedMove, joined: Joined = {}): SqlText {
  const { execution, version, status, state, output, fault, over, consumed, turn, told } = move;
  const ended = isFinal(status);
  const forced = state === undefined;
  const parts = [
    ...(joined.before ?? []),
    sqlText`moved as (
      update ${executions} set status = ${status}, version = version + 1, task_events = task_events + ${told.now},
        state = coalesce(${state && !ended ? JSON.stringify(storeState(state)) : null}::text::jsonb,
          ${ended ? sqlText`'{}'` : sqlText`state`}),
        output = coalesce(${asText(output)}::text::jsonb, output),
        fault = coalesce(${asText(fault)}::text::jsonb, fault),
        ended_at = case when ${ended}::boolean then app_now() end
      where id = ${execution.id} and version = ${version} and ended_at is null
        ${joined.when ? sqlText`and ${joined.when}` : sqlText``}
      returning id)`,
  ];
  if (over.length > 0 || ended) {
    const these = ended ? sqlText`` : sqlText`and ${steps}.key in (select key from ending)`;
    parts.push(
      sqlText`ending as (select * from jsonb_to_recordset(${JSON.stringify(over)}::text::jsonb) as one (key text, status text))`,
      sqlText`closed as (delete from ${steps} using moved where execution_id = moved.id ${these})`,
    );
  }
  if (forced || over.some(({ status: how }) => how === 'closed')) {
    parts.push(ctx.host.withdrawing(forced));
  }
  if (!ended && move.open.length > 0) parts.push(opening(ctx, move, joined));
  if (consumed.length > 0) {
    parts.push(sqlText`taken as (
      update ${signals} set consumed_at = app_now(), event = 'null', sender = null
      from moved, jsonb_to_recordset(${JSON.stringify(consumed)}::text::jsonb) as one (source text, "eventId" text)
      where execution_id = moved.id and ${signals}.source = one.source and event_id = one."eventId")`);
  }
  const gone = told.after - keptTaskEvents - taskEventsPerRow;
  if (told.now > 0 && gone >= keptTaskEvents) {
    parts.push(sqlText`trimmed as (
      delete from ${taskEvents} using moved
      where execution_id = moved.id and nth > ${keptTaskEvents} and nth <= ${gone + 1})`);
  }
  if (!ended && turn.again) {
    parts.push(sqlText`again as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at)
      select id, ${TURN}, 'turn', 'open', '{}'::jsonb, 1, app_now() from moved
      on conflict (execution_id, key) do update
        set status = 'open', attempt = ${steps}.attempt + 1, due_at = app_now(), lease_until = null, failures = 0, closed_at = null)`);
  } else if (!ended && turn.seen !== null) {
    parts.push(sqlText`seen as (
      update ${steps} set status = 'closed', closed_at = app_now(), lease_until = null, failures = 0
      from moved where execution_id = moved.id and key = ${TURN} and attempt = ${turn.seen})`);
  }
  parts.push(...(joined.after ?? []));
  // The entries of `told` get lower numbers than those of the move.
  const after = joined.told
    ? sqlText`(select id from moved where (select count(*) from ${joined.told}) >= 0) as moved`
    : sqlText`moved`;
  parts.push(
    ctx.host.appending([...move.entries, ...(joined.entries ?? [])], { when: after, entitlement: joined.entitlement }),
  );
  return sqlText`with ${joinTexts(parts, ', ')} ${joined.returning ?? sqlText`select id, (select count(*) from notified) from moved`}`;
}

function opening(ctx: EngineStore, move: PreparedMove, joined: Joined): SqlText {
  const rows = move.open.map((step) => ({
    key: step.key,
    kind: step.kind,
    request: step.request,
    due: step.dueAt ?? null,
    parked: move.parked.includes(step),
    claimed: step.key === move.claimed?.key,
  }));
  // A call is due immediately and a timer at its time; an event is never due. A parked call is checked at its time.
  const { until, waitingFor } = parkings(ctx, move, joined);
  const lease = sqlText`app_now() + ${`${move.lease} milliseconds`}::interval`;
  const waits = joined.waitingFor !== undefined;
  return sqlText`opened as (
    insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim, waiting_for)
    select moved.id, one.key, one.kind, 'open', one.request, case when one.parked or one.claimed then 1 else 0 end,
      case when one.parked then coalesce(${until}, app_now()) when one.claimed and ${waits}::boolean then ${lease}
        when one.kind = 'call' then app_now() else one.due end,
      case when one.claimed and not ${waits}::boolean then ${lease} end,
      case when one.claimed then ${move.claimed ? claimText(move.claimed.id, 1) : sqlText`null`} end,
      case when one.claimed then ${joined.waitingFor ?? null}::text when one.parked then ${waitingFor} end
    from moved, jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as one (key text, kind text, request jsonb, due timestamptz, parked boolean, claimed boolean))`;
}

/** Returns until when each of the calls that only wait is parked, and what it waits for, in words. */
function parkings(ctx: EngineStore, move: PreparedMove, joined: Joined): { until: SqlText; waitingFor: SqlText } {
  let until = sqlText`null::timestamptz`;
  let waitingFor = sqlText`null`;
  for (const step of move.parked) {
    const { key } = step;
    const parks = parkingOf(ctx, step);
    if (!parks) continue;
    const ends = joined.until ?? parks.until(rawText('moved.id'));
    until = sqlText`case when one.key = ${key}::text then ${ends} else ${until} end`;
    waitingFor = sqlText`case when one.key = ${key}::text then ${parks.waitingFor(ends)} else ${waitingFor} end`;
  }
  return { until, waitingFor };
}

function asText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
