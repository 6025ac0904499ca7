import {
  archivedBlocks,
  type Database,
  execute,
  ledger,
  ledgerArchives,
  rangeOf,
  sqlText,
  taskEvents,
} from '@belay/db';
import { describeTaskEvent, keptTaskEvents, taskEventsPerRow } from '@belay/engine';
import { and, asc, desc, eq, gt, gte, lt, lte, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';

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

/** Returns what happened to an execution between two numbers, oldest first: the ledger and the kept task events. */
export async function readHappenings(db: Database, id: string, part: HistoryPart): Promise<Happening[]> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, from, limit } = part;
  const order = from === 'oldest' ? asc : desc;
  const rows = await unionAll(
    db
      .select({
        seq: ledger.seq,
        at: ledger.at,
        type: sql<string | null>`${ledger.type}`,
        message: sql<string | null>`${ledger.message}`,
        task: sql<string | null>`${ledger.data} ->> 'task'`,
        events: sql`null::jsonb`.mapWith(taskEvents.events),
      })
      .from(ledger)
      .where(
        and(
          eq(ledger.executionId, id),
          gte(rangeOf(ledger.seq), rangeOf(after)),
          lte(rangeOf(ledger.seq), rangeOf(before)),
          gt(ledger.seq, after),
          lt(ledger.seq, before),
        ),
      )
      .orderBy(order(rangeOf(ledger.seq)), order(ledger.seq))
      .limit(limit),
    db
      .select({
        seq: taskEvents.seq,
        at: taskEvents.at,
        type: sql<string | null>`null::text`,
        message: sql<string | null>`null::text`,
        task: sql<string | null>`null::text`,
        events: taskEvents.events,
      })
      .from(taskEvents)
      // A row that starts before the range may end in it.
      .where(
        and(eq(taskEvents.executionId, id), gt(taskEvents.seq, after - taskEventsPerRow), lt(taskEvents.seq, before)),
      )
      .orderBy(order(taskEvents.seq))
      .limit(limit + 1),
  );
  const happenings = rows
    .flatMap(({ seq, at, type, message, task, events }): Happening[] =>
      type === null || message === null
        ? (events ?? []).map((event, index) => toHappening(seq + index, at, describeTaskEvent(event)))
        : [toHappening(seq, at, { type, message, ...(task === null ? {} : { task }) })],
    )
    .filter(({ seq }) => seq > after && seq < before)
    .sort((a, b) => a.seq - b.seq);
  return from === 'oldest' ? happenings.slice(0, limit) : happenings.slice(-limit);
}

function toHappening(seq: number, at: Date, what: { type: string; message: string; task?: string }): Happening {
  const { type, message, task } = what;
  return { seq, at, type, message, ...(task === undefined ? {} : { task }) };
}

/** Returns the number of the newest entry, or 0. */
export async function lastSeq(db: Database, id: string): Promise<number> {
  const [newest] = await readHappenings(db, id, { from: 'newest', limit: 1 });
  return newest?.seq ?? 0;
}

/** Returns how many task events are not kept, and the number of the first one after them; null while all are kept. */
export async function readGap(
  db: Database,
  execution: { id: string; taskEvents: number },
): Promise<{ before: number; at: Date; count: number } | null> {
  if (execution.taskEvents <= 2 * keptTaskEvents) return null;
  const [row] = await db
    .select({ seq: taskEvents.seq, at: taskEvents.at, nth: taskEvents.nth })
    .from(taskEvents)
    .where(and(eq(taskEvents.executionId, execution.id), gt(taskEvents.nth, keptTaskEvents)))
    .orderBy(asc(taskEvents.seq))
    .limit(1);
  const count = (row?.nth ?? 0) - keptTaskEvents - 1;
  return row && count > 0 ? { before: row.seq, at: row.at, count } : null;
}

/** Returns the end of the latest month of which archived entries were deleted, if it is after a time; otherwise null. */
export async function readArchivedUntil(db: Database, since: Date): Promise<Date | null> {
  const [row] = await execute<{ until: string | null }>(
    db,
    sqlText`
    select to_json(max(((month || '-01')::date + interval '1 month') at time zone 'UTC')) #>> '{}' as until from ${ledgerArchives} a
    where a.month >= ${since.toISOString().slice(0, 7)} and (a.deleted_at is not null
      or a.rows > (select coalesce(sum(b.rows), 0) from ${archivedBlocks} b where b.archive = a.digest))`,
  );
  return row?.until ? new Date(row.until) : null;
}
