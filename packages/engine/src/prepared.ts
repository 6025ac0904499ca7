import {
  approvals,
  type ExecutionStatus,
  executions,
  inOrder,
  joinTexts,
  type SqlText,
  signals,
  sqlText,
  statementOf,
  steps,
  type Transaction,
  taskEvents,
} from '@belay/db';
import { type Fault, type Json, type State, type Step, storeState } from '@belay/workflow';
import { endGrants } from '../../access/end.js';
import type { Actor, Context, Hint } from '../../context.js';
import { appending, type LedgerEntry, type TaskEntry } from '../../ledger/append.js';
import { keptTaskEvents, taskEventsPerRow } from '../task-events.js';
import type { Decided } from './decide-turn.js';
import { packTaskEvents } from './entries.js';
import { isFinal } from './final.js';
import { claimText } from './lost-claims.js';
import { callName } from './request.js';
import type { Snapshot } from './snapshot.js';
import { TURN, turnHint } from './turn-row.js';

/** A move that was decided outside any transaction, and is written where the execution still has the version it was decided on. */
export interface PreparedMove {
  execution: { id: string; ownerId: string };
  version: number;
  status: ExecutionStatus;
  /** Absent when the execution ends as it stands (terminate). */
  state?: State;
  output?: Json | undefined;
  fault?: Fault | undefined;
  open: Step[];
  /** The call among them that whoever writes performs: it is opened with a lease, under an id that is chosen here. */
  claimed: { key: string; id: string } | null;
  /** How long that lease is, in milliseconds. */
  lease: number;
  over: Decided['over'];
  consumed: Decided['consumed'];
  /** The mark that this turn has seen, and whether another turn is due after it. */
  turn: { seen: number | null; again: boolean };
  entries: (LedgerEntry | TaskEntry)[];
  /** How many task events it has, kept or not, and how many the execution has then. */
  told: { now: number; after: number };
  actor: Actor;
  /** To be sent after commit; complete when the move is written. */
  hints: Hint[];
}

const runtime: Actor = { kind: 'system', name: 'runtime' };

/** Makes a move of what was decided. `claim`: who writes it performs the call that it opens, when it is only one. */
export function prepare(
  ctx: Context,
  snapshot: Snapshot,
  decided: Decided,
  { actor = runtime, claim = false }: { actor?: Actor; claim?: boolean } = {},
): PreparedMove {
  const { id, ownerId, version } = snapshot;
  const { status, state, output, fault, open, over, consumed } = decided;
  const { entries, told } = packTaskEvents(decided.entries, snapshot.taskEvents);
  const calls = open.filter((step) => step.kind === 'call' && !isParked(step));
  const [only] = calls;
  const claimed = claim && only && calls.length === 1 ? { key: only.key, id: ctx.newId() } : null;
  const again = decided.unread && !isFinal(status);
  const hints = hintsOf(id, open, claimed?.key ?? null);
  if ((again || decided.left) && !isFinal(status)) hints.push(turnHint(id));
  return {
    execution: { id, ownerId },
    version,
    status,
    state,
    output,
    fault,
    open,
    claimed,
    lease: ctx.timing.lease,
    over,
    consumed,
    turn: { seen: snapshot.turn, again },
    entries,
    told: { now: told, after: snapshot.taskEvents + told },
    actor,
    hints,
  };
}

/** Returns a hint for every step that can be due and is not claimed. An event step is never due. */
function hintsOf(executionId: string, open: readonly Step[], claimed: string | null): Hint[] {
  return open
    .filter((step) => step.kind !== 'event' && step.key !== claimed && !isParked(step))
    .map((step) => ({
      queue: 'executions',
      executionId,
      key: step.key,
      ...(step.dueAt ? { dueAt: new Date(step.dueAt) } : {}),
    }));
}

/** A hold only waits for the end of the access, so it is opened waiting, in the move that comes to it. */
function isParked(step: Step): boolean {
  return step.kind === 'call' && callName(step.request) === 'access.hold';
}

/** The ids of the claims that a move makes. */
export function claimedIn({ claimed }: PreparedMove): string[] {
  return claimed ? [claimed.id] : [];
}

/** Whether a move is all of what is written with it: then one statement does, and needs no transaction around it. */
export function isWhole({ status, open, over }: PreparedMove): boolean {
  return !isFinal(status) && !open.some(isParked) && !over.some(({ status: how }) => how === 'closed');
}

/**
 * Writes a move in the caller's transaction, and with it the end of the grants of an execution that was abandoned: no grant
 * outlives the right to it (design §5.3, §6). False, and nothing is written, when the execution has moved since.
 * `locked`: the caller holds the execution's lock.
 */
export async function writePrepared(tx: Transaction, move: PreparedMove, { locked = false } = {}): Promise<boolean> {
  const { id: executionId } = move.execution;
  const { status, actor } = move;
  const given = move.over.filter(({ status: how }) => how === 'closed').map(({ key }) => key);
  // A statement that waits for the lock is as old as the wait: what it withdraws, or waits for, is read by one after it.
  const lock = statementOf(tx, sqlText`select from ${executions} where id = ${executionId} for update`);
  const [, moved] = await inOrder([locked || isWhole(move) ? undefined : lock, statementOf(tx, writing(move))]);
  if (moved.length === 0) return false;
  // A grant step that is closed before it was resolved was given up: what it intended is nobody's any more.
  if (given.length > 0) {
    move.hints.push(...(await endGrants(tx, { executionId, stepKeys: given, reason: 'failed', actor })));
  }
  // One that completes leaves its grants to expire.
  if (status === 'faulted' || status === 'cancelled' || status === 'terminated') {
    move.hints.push(...(await endGrants(tx, { executionId, reason: status, actor })));
  }
  return true;
}

/** What is written in the statement of a move, so that both are written or neither. */
export interface Joined {
  /** Expressions that come before the move. */
  before?: readonly SqlText[];
  /** What has to hold as well for the move to be written. */
  when?: SqlText;
  /** Expressions that follow from `moved`, which has a row when the move is written. */
  after?: readonly SqlText[];
  /** Told after what the move tells. */
  entries?: readonly LedgerEntry[];
  /** The entitlement of an entry, when its own is not what the row has. */
  entitlement?: SqlText;
  /** An expression that tells something before the move does; each of its rows is a row of the ledger. */
  told?: SqlText;
  /** What the call that the move opens waits for, when it is opened waiting. */
  waitingFor?: string;
  /** When the access of the execution ends, when what is written beside changes it. */
  end?: SqlText;
  /** What the statement returns; the id of the execution otherwise. */
  returning?: SqlText;
}

/** Whether grants end with a move: they are ended by a statement of their own (`writePrepared`). */
export function endsGrants({ status, over }: PreparedMove): boolean {
  const abandoned = status === 'faulted' || status === 'cancelled' || status === 'terminated';
  return abandoned || over.some(({ status: how }) => how === 'closed');
}

/** The state, the steps, the approvals, the inbox and the ledger of a move, in one statement that does nothing at another version. */
export function writing(move: PreparedMove, joined: Joined = {}): SqlText {
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
    parts.push(sqlText`withdrawn as (
      update ${approvals} set status = 'withdrawn', closed_at = app_now()
      from moved where execution_id = moved.id and ${approvals}.status = 'open'
        and (${forced}::boolean or step_key in (select key from ending where ending.status = 'closed')))`);
  }
  if (!ended && move.open.length > 0) parts.push(opening(move, joined));
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
  // What is told before is numbered before.
  const after = joined.told
    ? sqlText`(select id from moved where (select count(*) from ${joined.told}) >= 0) as moved`
    : sqlText`moved`;
  parts.push(appending([...move.entries, ...(joined.entries ?? [])], after, joined.entitlement));
  return sqlText`with ${joinTexts(parts, ', ')} ${joined.returning ?? sqlText`select id, (select count(*) from notified) from moved`}`;
}

function opening(move: PreparedMove, joined: Joined): SqlText {
  const rows = move.open.map((step) => ({
    key: step.key,
    kind: step.kind,
    request: step.request,
    due: step.dueAt ?? null,
    parked: isParked(step),
    claimed: step.key === move.claimed?.key,
  }));
  // A call is due at once, and a timer at its time; an event never is. What is parked looks when the access ends.
  const end =
    joined.end ??
    sqlText`(select max(expires_at) from grants
    where grants.execution_id = moved.id and ended_at is null and expires_at > app_now())`;
  const lease = sqlText`app_now() + ${`${move.lease} milliseconds`}::interval`;
  const waits = joined.waitingFor !== undefined;
  return sqlText`opened as (
    insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim, waiting_for)
    select moved.id, one.key, one.kind, 'open', one.request, case when one.parked or one.claimed then 1 else 0 end,
      case when one.parked then coalesce(${end}, app_now()) when one.claimed and ${waits}::boolean then ${lease}
        when one.kind = 'call' then app_now() else one.due end,
      case when one.claimed and not ${waits}::boolean then ${lease} end,
      case when one.claimed then ${move.claimed ? claimText(move.claimed.id, 1) : sqlText`null`} end,
      case when one.claimed then ${joined.waitingFor ?? null}::text when one.parked then 'the end of the access at '
        || to_char(${end} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end
    from moved, jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as one (key text, kind text, request jsonb, due timestamptz, parked boolean, claimed boolean))`;
}

function asText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
