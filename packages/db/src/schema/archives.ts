import { bigint, foreignKey, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';

/** A file of ledger entries of one month, written and read back. Entries that were added to the month later are in a separate file. */
export const ledgerArchives = pgTable(
  'ledger_archives',
  {
    /** SHA-256 of the entries as lines. */
    digest: text('digest').primaryKey(),
    /** `2026-01`, in UTC. */
    month: text('month').notNull(),
    /** How many of its entries were deleted from the database, or are in a block. */
    rows: bigint('rows', { mode: 'number' }).notNull(),
    archivedAt: instant('archived_at').notNull().default(appNow),
    /** When the last of its entries was deleted from the database; null before. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [index('ledger_archives_month_idx').on(table.month)],
);

/**
 * Entries of the ledger that are archived and not deleted yet: all entries between two positions, with the digest of their lines.
 * They are deleted together with this row, if their lines still have that digest.
 */
export const archivedBlocks = pgTable(
  'archived_blocks',
  {
    archive: text('archive').notNull(),
    nth: integer('nth').notNull(),
    rows: integer('rows').notNull(),
    digest: text('digest').notNull(),
    firstAt: instant('first_at').notNull(),
    firstSeq: bigint('first_seq', { mode: 'number' }).notNull(),
    lastAt: instant('last_at').notNull(),
    lastSeq: bigint('last_seq', { mode: 'number' }).notNull(),
    /**
     * When the entries between the positions were found to differ from the archive; they must be archived again first.
     */
    changedAt: instant('changed_at'),
  },
  (table) => [
    primaryKey({ name: 'archived_blocks_pk', columns: [table.archive, table.nth] }),
    foreignKey({
      name: 'archived_blocks_archive_fk',
      columns: [table.archive],
      foreignColumns: [ledgerArchives.digest],
    }),
    index('archived_blocks_position_idx').on(table.firstAt, table.firstSeq),
  ],
);
