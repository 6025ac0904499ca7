import { bigint, index, pgTable, text } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/** One row per version of the configuration; the newest is in force. References to secrets stay references. */
export const catalogs = pgTable(
  'catalogs',
  {
    version: bigint('version', { mode: 'number' }).primaryKey(),
    document: json<unknown>('document').notNull(),
    digest: text('digest').notNull(),
    source: text('source').notNull(),
    appliedAt: instant('applied_at').notNull().default(appNow),
  },
  (table) => [index('catalogs_digest_idx').on(table.digest)],
);
