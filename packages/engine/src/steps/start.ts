import { definitions, executions, rawText, type SqlText, sqlText, steps } from '@belay/db';
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
  /** What the host's query and condition read of this start, as fields of `given.asking`. */
  asking: Json;
  /** The input without the time of the request, which the database adds. */
  input: object;
  /** The execution whose access this one extends. */
  extendsId?: string | undefined;
  entry: LedgerEntry;
  /** How long only the caller may take the first turn, in milliseconds, and the id of that claim. */
  lease: number;
  claimId: string;
}

/** What the host checks in the statement of a start, for each row of `given`. */
export interface Admission {
  /** A call of an SQL function that takes locks and returns one row, with what the condition needs. The statement returns its columns. */
  asked: SqlText;
  /** The condition on that row, `asked`, under which the execution is started. */
  when: SqlText;
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
 * state before their first turn.
 */
export function startingExecutions(
  ctx: EngineStore,
  startings: readonly Starting[],
  { asked, when }: Admission,
): SqlText {
  const requested = sqlText`to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const given = startings.map((one) => ({
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
        catalog_version int, owner_id uuid, extends_id uuid, lease interval, claim text, asking jsonb, input jsonb)
      order by owner_id),
    asked as materialized (select given.id as given, asked.* from given cross join lateral ${asked} as asked),
    started as (
      insert into ${executions} (id, workflow, definition_digest, catalog_version, owner_id, input, extends_id, status, state, started_at)
      select given.id, given.workflow,
        -- Null when a restored database does not have the definition. The column is not null, so the row is then rejected.
        (select ${definitions.digest} from ${definitions} where ${definitions.digest} = given.digest),
        catalog_version, owner_id, input || jsonb_build_object('requested_at', ${requested}), extends_id, 'pending', '{}'::jsonb, app_now()
      from given join asked on asked.given = given.id where ${when}
      returning id),
    turn as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim)
      select id, ${TURN}::text, 'turn', 'open', '{}'::jsonb, 1, app_now(), app_now() + given.lease, ${claimText(rawText('given.claim'), 1)}
      from started join given using (id)),
    ${ctx.host.appending(
      startings.map(({ entry }) => entry),
      { when: sqlText`started`, on: sqlText`entry.execution_id = started.id` },
    )}
    select given.id, asked.*, ${requested} as requested,
      ${ctx.host.beside({ id: column('id'), ownerId: column('owner_id'), input: column('input') })} as beside,
      (select count(*) from notified) from given join asked on asked.given = given.id`;
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
