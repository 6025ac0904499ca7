import { type SQL, sql } from 'drizzle-orm';
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

/** The id of the person or agent who acted; null for others. */
export const actorOf = ({ actor }: Acted): SQL => sql`(${actor} ->> 'id')`;

/** Whether somebody acted whom the entry is not about. Queries have to say it in these words to use the indexes. */
export const isAboutOthers = (table: Acted): SQL => sql`${actorOf(table)} <> coalesce(${table.userId}::text, '')`;

/**
 * What happened, for ever: history, logs and audit trail are three filters on it. Append only. The sequence counts in
 * hundreds, because a row of `task_events` takes up to a hundred numbers of it.
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
    // For who reads everything in order, or what is new. Belay itself does not, so a whole index on it would be read by nobody.
    index('ledger_seq_idx').using('brin', table.seq).with({ autosummarize: true }),
    index('ledger_execution_idx').on(table.executionId, table.seq),
    index('ledger_user_idx').on(table.userId, table.seq.desc()),
    // Few entries are more than information, so those are found without reading the others.
    index('ledger_user_notable_idx').on(table.userId, table.seq.desc()).where(sql`${table.level} <> 'info'`),
    // What a person did that concerns others; what concerns themselves is found as that. For all, and for one of the others.
    index('ledger_acted_idx').on(actorOf(table), table.seq.desc()).where(isAboutOthers(table)),
    index('ledger_acted_on_idx').on(actorOf(table), table.userId, table.seq.desc()).where(isAboutOthers(table)),
    index('ledger_acted_notable_idx')
      .on(actorOf(table), table.seq.desc())
      .where(sql`${isAboutOthers(table)} and ${table.level} <> 'info'`),
    // What concerns nobody in particular: everybody's, or an agent's.
    index('ledger_nobody_idx').on(table.type, table.seq.desc()).where(sql`${table.userId} is null`),
    check('ledger_level_is_known', sql`${table.level} in ('info', 'warning', 'error')`),
  ],
);

/** A task's event: what it did, its pointer in the definition, and the error if there was one; or `emitted`, a type, a source and an id. */
export type TaskEvent = [what: string, about: string, ...more: string[]];

/**
 * What the tasks of an execution did: one row for each move of it, as far as it is among the first or the last thousand
 * events. In order with the ledger: the first event has the number `seq`, the next the one after it.
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
