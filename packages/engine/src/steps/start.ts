import { definitions, executions, type SqlText, sqlText, steps } from '@belay/db';
import type { Json, Workflow } from '@belay/workflow';
import type { EngineStore, LedgerEntry } from '../ports.js';
import { claimText } from './lost-claims.js';
import { readBeside, type Snapshot } from './snapshot.js';
import { TURN } from './turn-row.js';

export interface Starting {
  id: string;
  workflow: { name: string; digest: string; workflow: Workflow };
  catalogVersion: number;
  ownerId: string;
  /** A query with one row, which is returned: what the start must know, under its locks. */
  asked: SqlText;
  /** The condition on that row under which the execution is started. */
  when: SqlText;
  /** The input without the time of the request, which is the database's. */
  input: object;
  /** The execution whose access this one extends. */
  extendsId?: string | undefined;
  entry: LedgerEntry;
  /** How long only the caller may take the first turn, in milliseconds, and the id of that claim. */
  lease: number;
  claimId: string;
}

/** What a start returns besides the row of `asked`. */
export interface Started {
  /** The time of the start, as in the input. */
  requested: string;
  /** What the host reads about the owner. */
  beside: string | null;
}

/** Starts an execution in one statement; it has no state before its first turn, which a worker takes. */
export function startingExecution(ctx: EngineStore, starting: Starting): SqlText {
  const { id, workflow, catalogVersion, ownerId, asked, when, entry, lease, claimId } = starting;
  const requested = sqlText`to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const input = sqlText`${JSON.stringify(starting.input)}::text::jsonb`;
  return sqlText`
    with asked as materialized (${asked}),
    started as (
      insert into ${executions} (id, workflow, definition_digest, catalog_version, owner_id, input, extends_id, status, state, started_at)
      select ${id}::uuid, ${workflow.name}::text,
        -- Null, and so rejected, where a database that was restored does not have it.
        (select ${definitions.digest} from ${definitions} where ${definitions.digest} = ${workflow.digest}),
        ${catalogVersion}::int, ${ownerId}::uuid, ${input} || jsonb_build_object('requested_at', ${requested}), ${starting.extendsId ?? null}::uuid,
        'pending', '{}'::jsonb, app_now()
      from asked where ${when}
      returning id),
    turn as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim)
      select id, ${TURN}::text, 'turn', 'open', '{}'::jsonb, 1, app_now(),
        case when ${lease}::int > 0 then app_now() + ${`${lease} milliseconds`}::interval end, ${claimText(claimId, 1)}
      from started),
    ${ctx.host.appending([entry], sqlText`started`)}
    select asked.*, ${requested} as requested,
      ${ctx.host.beside({ id: sqlText`${id}::uuid`, ownerId: sqlText`${ownerId}::uuid`, input })} as beside,
      (select count(*) from notified) from asked`;
}

/** Returns what the first turn would read of an execution that has just been started. */
export function startedSnapshot({ id, workflow, ownerId, input }: Starting, started: Started): Snapshot {
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
