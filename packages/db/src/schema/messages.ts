import { sql } from 'drizzle-orm';
import { foreignKey, index, integer, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { approvals } from './approvals.js';
import { appNow, instant, json } from './columns.js';

/**
 * What approvers are told outside of Belay: committed with the approval that it is about, then delivered at least once, and
 * revised when the approval has closed. What it says is made from the approval at each delivery, tokens included.
 */
export const messages = pgTable(
  'messages',
  {
    id: uuid('id').primaryKey(),
    /** The idempotency key under which the provider is given it. */
    key: text('key').notNull(),
    approvalId: uuid('approval_id').notNull(),
    provider: text('provider').notNull(),
    recipient: text('recipient').notNull(),
    /** The workflow's own words, or null for the usual ones. */
    text: text('text'),
    /** Where it was delivered, in the connector's shape. */
    receipt: json<{ [key: string]: unknown }>('receipt'),
    deliveredAt: instant('delivered_at'),
    /** When nothing is left to do: revised, not needed any more, or given up. */
    closedAt: instant('closed_at'),
    /** When it is tried (again); a delivery in progress moves it on. */
    dueAt: instant('due_at').notNull().default(appNow),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    unique('messages_are_queued_once').on(table.key),
    foreignKey({ name: 'messages_approval_fk', columns: [table.approvalId], foreignColumns: [approvals.id] }),
    index('messages_open_idx').on(table.dueAt).where(sql`${table.closedAt} is null`),
  ],
);
