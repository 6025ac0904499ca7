import { sql } from 'drizzle-orm';
import { bigint, check, doublePrecision, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';
import { users } from './people.js';

/**
 * Until when the calls of a provider pause: all of them, or all except revocations and the reads that verify them (`ordinary`). Written
 * when a pause begins, and read by every process.
 */
export const providerPauses = pgTable(
  'provider_pauses',
  {
    provider: text('provider').notNull(),
    /** The calls that share the limit, as the connector names them. */
    family: text('family').notNull(),
    scope: text('scope').$type<'all' | 'ordinary'>().notNull(),
    until: instant('until').notNull(),
  },
  (table) => [
    primaryKey({ name: 'provider_pauses_pk', columns: [table.provider, table.family, table.scope] }),
    check('provider_pause_scope_is_known', sql`${table.scope} in ('all', 'ordinary')`),
  ],
);

/** The calls that are left of a limit that the configuration sets for a provider (`lease_calls`). Processes take them in blocks. */
export const providerCalls = pgTable(
  'provider_calls',
  {
    provider: text('provider').notNull(),
    remaining: doublePrecision('remaining').notNull(),
    at: instant('at').notNull(),
  },
  (table) => [primaryKey({ name: 'provider_calls_pk', columns: [table.provider] })],
);

/** Calls of providers for a person that started no request: rejected requests, and lists. Those of the last hour count. */
export const lookups = pgTable(
  'lookups',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    kind: text('kind').$type<'request' | 'list'>().notNull(),
    at: instant('at').notNull().default(appNow),
  },
  (table) => [
    index('lookups_of_user_idx').on(table.userId, table.kind, table.at),
    check('lookup_kind_is_known', sql`${table.kind} in ('request', 'list')`),
  ],
);
