import { sql } from 'drizzle-orm';
import { bigint, bigserial, check, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

export type LedgerLevel = 'info' | 'warning' | 'error';

/**
 * What happened, for ever: history, logs and audit trail are three filters on it. Append only. The sequence counts in
 * hundreds, because a row of `task_events` takes up to a hundred numbers of it.
 */
export const ledger = pgTable(
  'ledger',
  {
    seq: bigserial('seq', { mode: 'number' }).primaryKey(),
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
    index('ledger_execution_idx').on(table.executionId, table.seq),
    index('ledger_user_idx').on(table.userId, table.seq.desc()),
    // What a person did, whomever it concerns.
    index('ledger_actor_idx').on(sql`(${table.actor} ->> 'id')`, table.seq.desc()),
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
