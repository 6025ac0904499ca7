import { definitions, executions, joinTexts, rawText, type SqlText, sqlText, steps } from '@belay/db';
import { type Json, storeState, type Workflow } from '@belay/workflow';
import type { EngineStore, LedgerEntry, PreparedMove, TaskEntry } from '../ports.js';
import { claimText } from './lost-claims.js';
import { readBeside, type Snapshot } from './snapshot.js';
import { TURN } from './turn-row.js';

export interface Starting {
  id: string;
  workflow: { name: string; digest: string; workflow: Workflow };
  catalogVersion: number;
  ownerId: string;
  /** What the host's query and condition read of this start, as fields of `given.asking`. */
  asking: Json;
  /** The input without the time of the request, which the database adds. */
  input: object;
  /** The execution whose access this one extends. */
  extendsId?: string | undefined;
  /** The ledger's entries of the start, in order. */
  entries: (LedgerEntry | TaskEntry)[];
  /** How long only the caller may take the first turn, in milliseconds, and the id of that claim. */
  lease: number;
  claimId: string;
  /** The first turn, when it was taken before the start (`decideFirstTurn`), with what its one call then waits for. */
  first?: { move: PreparedMove; startedAt: Date; waitingFor: string; dueAt: Date } | undefined;
}

/** What the host checks in the statement of a start, for each row of `given`. */
export interface Admission {
  /** A call of an SQL function that takes locks and returns one row, with what the condition needs. The statement returns its columns. */
  asked: SqlText;
  /** The condition on that row, `asked`, under which the execution is started. */
  when: SqlText;
  /** Expressions that write what belongs to executions that are started: those in `started`, by their `id`. */
  after?: readonly SqlText[];
}

/** What a start returns besides the columns of `asked`. */
export interface Started {
  id: string;
  /** The time of the start, as in the input. */
  requested: string;
  /** What the host reads about the owner. */
  beside: string | null;
}

/**
 * Returns the statement that starts executions of different owners. It locks in the order of the owners. The executions have no
 * state before their first turn, unless that was taken before.
 */
export function startingExecutions(
  ctx: EngineStore,
  startings: readonly Starting[],
  { asked, when, after = [] }: Admission,
): SqlText {
  const requested = sqlText`to_char(coalesce(given.started_at, app_now()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const given = startings.map((one) => ({
    ...startedBy(one.first),
    id: one.id,
    workflow: one.workflow.name,
    digest: one.workflow.digest,
    catalog_version: one.catalogVersion,
    owner_id: one.ownerId,
    extends_id: one.extendsId,
    lease: one.lease > 0 ? `${one.lease} milliseconds` : null,
    claim: one.claimId,
    asking: one.asking,
    input: one.input,
  }));
  const column = (name: string) => rawText(`given.${name}`);
  return sqlText`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(given)}::text::jsonb) as given (id uuid, workflow text, digest text,
        catalog_version int, owner_id uuid, extends_id uuid, lease interval, claim text, asking jsonb, input jsonb,
        started_at timestamptz, status text, state jsonb, version int, task_events int, step jsonb)
      order by owner_id),
    asked as materialized (select given.id as given, asked.* from given cross join lateral ${asked} as asked),
    started as (
      insert into ${executions} (id, workflow, definition_digest, catalog_version, owner_id, input, extends_id, status, state, version,
        task_events, started_at)
      select given.id, given.workflow,
        -- Null when a restored database does not have the definition. The column is not null, so the row is then rejected.
        (select ${definitions.digest} from ${definitions} where ${definitions.digest} = given.digest),
        catalog_version, owner_id, input || jsonb_build_object('requested_at', ${requested}), extends_id, coalesce(given.status, 'pending'), coalesce(given.state, '{}'::jsonb), coalesce(given.version, 0),
        coalesce(given.task_events, 0), coalesce(given.started_at, app_now())
      from given join asked on asked.given = given.id where ${when}
      returning id),
    turn as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim)
      select id, ${TURN}::text, 'turn', 'open', '{}'::jsonb, 1, app_now(), app_now() + given.lease, ${claimText(rawText('given.claim'), 1)}
      from started join given using (id) where step is null),
    waiting as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, waiting_for)
      select id, step ->> 'key', 'call', 'open', step -> 'request', 1, (step ->> 'due_at')::timestamptz, step ->> 'waiting_for'
      from started join given using (id) where step is not null),
    ${joinTexts([...after, sqlText``], ', ')}${ctx.host.appending(
      startings.flatMap(({ entries }) => entries),
      { when: sqlText`started`, on: sqlText`entry.execution_id = started.id` },
    )}
    select given.id, asked.*, ${requested} as requested,
      ${ctx.host.beside({ id: column('id'), ownerId: column('owner_id'), input: column('input') })} as beside,
      (select count(*) from notified) from given join asked on asked.given = given.id`;
}

/** Returns the columns of an execution whose first turn was taken before its start. */
function startedBy(first: Starting['first']): object {
  if (!first) return {};
  const { move, startedAt, waitingFor, dueAt } = first;
  const [step] = move.open;
  return {
    started_at: startedAt.toISOString(),
    // Its one call waits, so the execution waits.
    status: 'waiting',
    state: move.state && storeState(move.state),
    version: 1,
    task_events: move.told.now,
    step: { key: step?.key, request: step?.request, due_at: dueAt.toISOString(), waiting_for: waitingFor },
  };
}

/** Returns what the first turn would read of an execution that has just been started. */
export function startedSnapshot(
  { id, workflow, ownerId, input }: Pick<Starting, 'id' | 'workflow' | 'ownerId' | 'input'>,
  started: Pick<Started, 'requested' | 'beside'>,
): Snapshot {
  const now = new Date(started.requested);
  return {
    id,
    workflow: workflow.name,
    status: 'pending',
    ownerId,
    startedAt: now,
    input: { ...input, requested_at: started.requested } as Json,
    definition: workflow.workflow,
    state: null,
    version: 0,
    taskEvents: 0,
    cancelRequestedAt: null,
    now,
    steps: [],
    turn: 1,
    beside: readBeside(started.beside),
  };
}
