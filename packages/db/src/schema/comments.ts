import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

/**
 * What people wrote about a request, apart from their decisions. Append only, enforced by a trigger. A comment changes no request,
 * no approval and no digest.
 */
export const comments = pgTable(
  'comments',
  {
    id: uuid('id').primaryKey(),
    executionId: uuid('execution_id').notNull(),
    authorId: uuid('author_id').notNull(),
    kind: text('kind').$type<'comment' | 'question' | 'answer'>().notNull(),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    foreignKey({
      name: 'comments_execution_fk',
      columns: [table.executionId],
      foreignColumns: [executions.id],
    }).onDelete('cascade'),
    foreignKey({ name: 'comments_author_fk', columns: [table.authorId], foreignColumns: [users.id] }),
    check('comment_kind_is_known', sql`${table.kind} in ('comment', 'question', 'answer')`),
    check('comment_has_a_text', sql`${table.text} <> ''`),
    index('comments_execution_idx').on(table.executionId, table.createdAt, table.id),
    // For the quota: what one person wrote lately.
    index('comments_author_idx').on(table.authorId, table.createdAt),
  ],
);
