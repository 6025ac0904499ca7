import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

/**
 * A review of the use of a role for emergencies. A trigger on `grants` opens it with the row that makes the access
 * active. A trigger on `entitlements` opens it when a provider may hold the access although no response said so.
 * Another trigger enforces that a review is closed once, is not changed after that, and is deleted only with its
 * request.
 */
export const reviews = pgTable(
  'reviews',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    /** The first request; requests that extend it belong to the same review while the review is open. */
    executionId: uuid('execution_id').notNull(),
    /** Who may close it, by the configuration at the time of the request; addresses are folded. */
    rule: json<{ users: string[]; groups: string[] }>('rule').notNull(),
    openedAt: instant('opened_at').notNull().default(appNow),
    /**
     * When the review is overdue: a certain time after the end of the access, or after its opening when the access was
     * never active.
     */
    dueAt: instant('due_at').notNull(),
    closedAt: instant('closed_at'),
    closedBy: uuid('closed_by'),
    verdict: text('verdict').$type<'justified' | 'not_justified'>(),
    note: text('note'),
  },
  (table) => [
    foreignKey({
      name: 'reviews_execution_fk',
      columns: [table.executionId],
      foreignColumns: [executions.id],
    }).onDelete('cascade'),
    foreignKey({ name: 'reviews_closed_by_fk', columns: [table.closedBy], foreignColumns: [users.id] }),
    uniqueIndex('reviews_are_open_once').on(table.executionId).where(sql`${table.closedAt} is null`),
    index('reviews_execution_idx').on(table.executionId),
    index('reviews_due_idx').on(table.dueAt).where(sql`${table.closedAt} is null`),
    index('reviews_opened_idx').on(table.openedAt, table.id),
    index('reviews_open_idx').on(table.openedAt, table.id).where(sql`${table.closedAt} is null`),
    check('review_verdict_is_known', sql`${table.verdict} in ('justified', 'not_justified')`),
    check(
      'review_is_closed_whole',
      sql`num_nonnulls(${table.closedAt}, ${table.closedBy}, ${table.verdict}, ${table.note}) in (0, 4)`,
    ),
    check('review_has_a_note', sql`${table.note} <> ''`),
  ],
);
