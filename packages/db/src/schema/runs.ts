import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

/** How a run ended: whether the access was given back, or why it was not. */
export type RunOutcome = 'given_back' | 'in_use' | 'left';

/**
 * A command that uses the access of an execution (`belay run`). The run ends when its heartbeat is missing for longer than its
 * lease (docs/interface.md, section 18).
 */
export const runs = pgTable(
  'runs',
  {
    id: uuid('id').primaryKey(),
    executionId: uuid('execution_id')
      .notNull()
      .references(() => executions.id),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    /**
     * Whether the execution was requested for this run. A run never gives back the access of an execution that was not requested
     * for a run.
     */
    requested: boolean('requested').notNull(),
    /** How long the heartbeat may be missing, in milliseconds. */
    lease: bigint('lease', { mode: 'number' }).notNull(),
    /** The value of `reachable` at which the run must be checked: the end of its lease, or 0 for immediately. */
    dueAt: bigint('due_at', { mode: 'number' }).notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    endedAt: instant('ended_at'),
    outcome: text('outcome').$type<RunOutcome>(),
    /** When nothing was left to do. Null while access that is given back, or its execution, has not ended. */
    settledAt: instant('settled_at'),
  },
  (table) => [
    index('runs_due_idx').on(table.dueAt).where(sql`${table.settledAt} is null`),
    index('runs_settled_idx').on(table.settledAt).where(sql`${table.settledAt} is not null`),
    index('runs_execution_idx').on(table.executionId),
    index('runs_live_idx').on(table.userId).where(sql`${table.endedAt} is null`),
    check('run_outcome_is_known', sql`${table.outcome} in ('given_back', 'in_use', 'left')`),
    check('run_ends_with_an_outcome', sql`(${table.endedAt} is null) = (${table.outcome} is null)`),
    check('run_settles_after_its_end', sql`${table.settledAt} is null or ${table.endedAt} is not null`),
    check('run_has_a_lease', sql`${table.lease} > 0`),
  ],
);

/**
 * One row: for how long a server could be reached, counted while runs exist. Of a time in which no server writes it,
 * only the first seconds count (`timing.run.outage`), so that an outage hardly shortens the lease of a run.
 */
export const reachable = pgTable(
  'reachable',
  {
    one: boolean('one').primaryKey().default(true),
    milliseconds: bigint('milliseconds', { mode: 'number' }).notNull().default(0),
    seenAt: instant('seen_at').notNull().default(appNow),
  },
  (table) => [check('reachable_is_one_row', sql`${table.one}`)],
);
