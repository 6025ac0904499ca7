import { sql } from 'drizzle-orm';
import { bigserial, check, index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

export type LedgerLevel = 'info' | 'warning' | 'error';

/** What happened, for ever: history, logs and audit trail are three filters on it. Append only. */
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
