import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  bigserial,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

export type LedgerLevel = 'info' | 'warning' | 'error';

interface Acted {
  actor: AnyPgColumn;
  userId: AnyPgColumn;
}

/** Returns the SQL for the id of the person or agent who acted; null for other actors. */
export const actorOf = ({ actor }: Acted): SQL => sql`(${actor} ->> 'id')`;

/**
 * Returns the SQL for whether the actor is another person than the one whom the entry is about. Queries must use this expression to
 * use the indexes.
 */
export const isAboutOthers = (table: Acted): SQL => sql`${actorOf(table)} <> coalesce(${table.userId}::text, '')`;

/**
 * Returns the SQL for the range that contains a number of the ledger; a range has 1,310 numbers of its sequence. Entries of one
 * range have equal keys in an index, and PostgreSQL stores equal keys once. A query that reads in order sorts by the range and then
 * by the number: the index has the ranges in order, so at most one range is sorted. Queries must use this expression to use the
 * indexes.
 */
export const rangeOf = (seq: SQLWrapper | number): SQL => sql`(${seq}::bigint >> 17)`;

/**
 * The permanent record of what happened; history, logs and audit log are three filters on it. Append only. The sequence counts in
 * hundreds, because a row of `task_events` uses up to a hundred numbers of it.
 */
export const ledger = pgTable(
  'ledger',
  {
    seq: bigserial('seq', { mode: 'number' }).notNull(),
    at: instant('at').notNull().default(appNow),
    type: text('type').notNull(),
    level: text('level').$type<LedgerLevel>().notNull(),
    message: text('message').notNull(),
    actor: json<unknown>('actor').notNull(),
    userId: uuid('user_id'),
    provider: text('provider'),
    executionId: uuid('execution_id'),
    entitlementId: uuid('entitlement_id'),
    data: json<unknown>('data'),
  },
  (table) => [
    // For readers that read everything in order, or only new entries.
    index('ledger_seq_idx').using('brin', table.seq).with({ autosummarize: true }),
    // The whole audit log, newest first and by time, for administrators and auditors.
    index('ledger_time_idx').on(table.at, table.seq),
    index('ledger_execution_idx').on(table.executionId, rangeOf(table.seq)),
    index('ledger_user_idx').on(table.userId, rangeOf(table.seq)),
    // Few entries have a level above information, so this index finds those without reading the others.
    index('ledger_user_notable_idx').on(table.userId, table.seq.desc()).where(sql`${table.level} <> 'info'`),
    // What a person did that is about other people; entries about themselves are found by another index. One index for
    // all entries, one for a single other person.
    index('ledger_acted_idx').on(actorOf(table), table.seq.desc()).where(isAboutOthers(table)),
    index('ledger_acted_on_idx').on(actorOf(table), table.userId, table.seq.desc()).where(isAboutOthers(table)),
    index('ledger_acted_notable_idx')
      .on(actorOf(table), table.seq.desc())
      .where(sql`${isAboutOthers(table)} and ${table.level} <> 'info'`),
    // Entries about no person, by their type.
    index('ledger_nobody_idx').on(table.type, table.seq.desc()).where(sql`${table.userId} is null`),
    check('ledger_level_is_known', sql`${table.level} in ('info', 'warning', 'error')`),
  ],
);

/**
 * The event of a task: what it did, its pointer in the definition, and the error if any; or `emitted`, a type, a
 * source and an id.
 */
export type TaskEvent = [what: string, about: string, ...more: string[]];

/**
 * What the tasks of an execution did: one row for up to a hundred consecutive events, kept if they are among the first
 * or the last thousand. Numbered in one order with the ledger: the first event has the number `seq`, the next one
 * `seq + 1`.
 */
export const taskEvents = pgTable(
  'task_events',
  {
    executionId: uuid('execution_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    /** The number of the first event among all of the execution's, from 1. */
    nth: integer('nth').notNull(),
    at: instant('at').notNull().default(appNow),
    actor: json<unknown>('actor').notNull(),
    userId: uuid('user_id'),
    events: json<TaskEvent[]>('events').notNull(),
  },
  (table) => [
    primaryKey({ name: 'task_events_pk', columns: [table.executionId, table.seq] }),
    index('task_events_user_idx').on(table.userId, table.seq.desc()),
  ],
);
