import {
  archivedBlocks,
  type Database,
  execute,
  ledger,
  ledgerArchives,
  type SqlText,
  sqlText,
  type TaskEvent,
  taskEvents,
} from '@belay/db';
import { describeTaskEvent, keptTaskEvents, taskEventsPerRow } from '@belay/engine';

const most = Number.MAX_SAFE_INTEGER;

/** Returns the range that contains a number of the ledger (`rangeOf`), for statements whose text is built once. */
export const rangeIn = (seq: SqlText | number): SqlText => sqlText`(${seq}::bigint >> 17)`;

/** Something that happened to an execution, as its history shows it. */
export interface Happening {
  seq: number;
  type: string;
  at: Date;
  message: string;
  /** JSON pointer of the task, for events of a task. */
  task?: string;
}

export interface HistoryPart {
  /** Both bounds are excluded. */
  after?: number | undefined;
  before?: number | undefined;
  /** Which end of the range to return when there is more than `limit`. */
  from: 'oldest' | 'newest';
  limit: number;
}

/** A row of the ledger or of the task events, as `happenings` reads it. */
export interface HappeningRow {
  /** A text where the driver returns the row, a number in JSON. */
  seq: string | number;
  at: string;
  /** Null for task events. */
  type: string | null;
  message: string | null;
  task: string | null;
  events: TaskEvent[] | null;
}

/**
 * Returns the query for the rows of what happened to an execution, from which `toHappenings` selects. Task events that start before
 * the range are read too, because they may end in it.
 */
export function happenings(id: SqlText, { after = 0, before = most, from, limit }: HistoryPart): SqlText {
  const order = from === 'oldest' ? sqlText`asc` : sqlText`desc`;
  return sqlText`
    (select seq, at, type, message, data ->> 'task' as task, null::jsonb as events from ${ledger}
     where execution_id = ${id} and ${rangeIn(sqlText`seq`)} between ${rangeIn(after)} and ${rangeIn(before)}
       and seq > ${after}::bigint and seq < ${before}::bigint
     order by ${rangeIn(sqlText`seq`)} ${order}, seq ${order} limit ${limit}::int)
    union all
    (select seq, at, null, null, null, events from ${taskEvents}
     where execution_id = ${id} and seq > ${after - taskEventsPerRow}::bigint and seq < ${before}::bigint
     order by seq ${order} limit ${limit + 1}::int)`;
}

/** Returns what the rows of `happenings` say happened, oldest first. */
export function toHappenings(
  rows: readonly HappeningRow[],
  { after = 0, before = most, from, limit }: HistoryPart,
): Happening[] {
  const found = rows
    .flatMap(({ seq, at, type, message, task, events }): Happening[] =>
      type === null || message === null
        ? (events ?? []).map((event, index) => toHappening(Number(seq) + index, new Date(at), describeTaskEvent(event)))
        : [toHappening(Number(seq), new Date(at), { type, message, ...(task === null ? {} : { task }) })],
    )
    .filter(({ seq }) => seq > after && seq < before)
    .sort((a, b) => a.seq - b.seq);
  return from === 'oldest' ? found.slice(0, limit) : found.slice(-limit);
}

/** Returns what happened to an execution between two numbers, oldest first: the ledger and the kept task events. */
export async function readHappenings(db: Database, id: string, part: HistoryPart): Promise<Happening[]> {
  return toHappenings(await execute<HappeningRow>(db, happenings(sqlText`${id}::uuid`, part)), part);
}

function toHappening(seq: number, at: Date, what: { type: string; message: string; task?: string }): Happening {
  const { type, message, task } = what;
  return { seq, at, type, message, ...(task === undefined ? {} : { task }) };
}

/** The first task event after those that are not kept, in a column of a statement. */
export interface GapRow {
  seq: number;
  at: string;
  nth: number;
}

/** The column with the first task event after those that are not kept of the execution in the row `e`; null while all are kept. */
export const gapColumn: SqlText = sqlText`
  case when e.task_events > ${2 * keptTaskEvents}::int then (
    select json_build_object('seq', seq, 'at', at, 'nth', nth) from ${taskEvents}
    where execution_id = e.id and nth > ${keptTaskEvents}::int order by seq limit 1) end as gap`;

/** Returns how many task events are not kept, and the number of the first one after them; null while all are kept. */
export function toGap(row: GapRow | null): { before: number; at: Date; count: number } | null {
  const count = (row?.nth ?? 0) - keptTaskEvents - 1;
  return row && count > 0 ? { before: row.seq, at: new Date(row.at), count } : null;
}

/**
 * The column with the end of the latest month of which archived entries were deleted, if it is after the execution in the row `e` was
 * requested; otherwise null.
 */
export const archivedColumn: SqlText = sqlText`
  (select max(((month || '-01')::date + interval '1 month') at time zone 'UTC') from ${ledgerArchives} a
   where a.month >= to_char(e.created_at at time zone 'UTC', 'YYYY-MM') and (a.deleted_at is not null
     or a.rows > (select coalesce(sum(b.rows), 0) from ${archivedBlocks} b where b.archive = a.digest))) as archived`;
