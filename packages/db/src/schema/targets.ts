import { sql } from 'drizzle-orm';
import { check, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.js';

/** What is remembered of the history of each target, so that a copy or an earlier state of it settles nothing (R7). */
export const targets = pgTable(
  'targets',
  {
    /** The target's fingerprint. */
    target: text('target').primaryKey(),
    /** How far its history had come when its mark was last renewed; null when that cannot be told. */
    position: text('position'),
    /** The mark that the target has; null when it has no room for one, or before the first. */
    mark: text('mark'),
    /** A time before the mark was written: what changed at the target before it is there where the mark is. */
    markedAt: instant('marked_at'),
    /** A mark that may have been written: it is stored before it is, and confirmed afterwards. */
    nextMark: text('next_mark'),
    nextAt: instant('next_at'),
    /** Why no call at this target settles anything; null while its server is believed. */
    doubt: text('doubt'),
    doubtedAt: instant('doubted_at'),
  },
  (table) => [
    check('target_mark_has_a_time', sql`(${table.mark} is null) = (${table.markedAt} is null)`),
    check('target_next_mark_has_a_time', sql`(${table.nextMark} is null) = (${table.nextAt} is null)`),
    check('target_doubt_has_a_time', sql`(${table.doubt} is null) = (${table.doubtedAt} is null)`),
  ],
);
