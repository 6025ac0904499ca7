import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/**
 * Whether grants wait after a restore of the database to an earlier time, until what providers hold was compared with its rows. One
 * row; no row before the first restore.
 */
export const restores = pgTable(
  'restores',
  {
    one: boolean('one').primaryKey().default(true),
    /** Rises with each restore; a comparison of an earlier epoch does not count. */
    epoch: integer('epoch').notNull(),
    /** Since when grants wait; null while grants are permitted. */
    closedAt: instant('closed_at'),
    reason: text('reason').notNull(),
    /** Whether Belay noticed the restore and no operator began it; then grants continue when nothing is left to decide. */
    noticed: boolean('noticed').notNull().default(false),
    /** When each administrator began a restore last, by the id of the user. */
    begunBy: json<{ [userId: string]: string }>('begun_by').notNull().default({}),
  },
  (table) => [check('restores_is_one_row', sql`${table.one}`)],
);

/** One row: which cluster and database this was when Belay last saw it. A restored or promoted database has other values. */
export const clusters = pgTable(
  'clusters',
  {
    one: boolean('one').primaryKey().default(true),
    /** The identifier that PostgreSQL gave the cluster when it was made. */
    system: text('system').notNull(),
    /** Rises when a standby is promoted, and at the end of a recovery to an earlier time. */
    timeline: integer('timeline').notNull(),
    /** The object identifier of the database; a database that was created again from a dump has another one. */
    database: text('database').notNull(),
  },
  (table) => [check('clusters_is_one_row', sql`${table.one}`)],
);

/** The latest comparison of each provider with its rows after a restore. */
export const comparisons = pgTable(
  'comparisons',
  {
    provider: text('provider').notNull(),
    epoch: integer('epoch').notNull(),
    /** While this time is in the future, one worker compares the provider, or the next attempt waits. */
    leaseUntil: instant('lease_until').notNull(),
    /** When the provider was compared, or skipped. */
    comparedAt: instant('compared_at'),
    /** Why the provider was skipped. */
    skipped: text('skipped'),
    /** Why the latest attempt failed. */
    lastError: text('last_error'),
    /** The administrator who proposed to skip the provider; another one decides. */
    proposal: json<{ userId: string; by: string; reason: string }>('proposal'),
  },
  (table) => [
    primaryKey({ name: 'comparisons_pk', columns: [table.provider] }),
    check('comparison_is_skipped_at_a_time', sql`${table.skipped} is null or ${table.comparedAt} is not null`),
  ],
);

/** Access that a comparison found and that may not be Belay's: an operator decides whether it is revoked or kept. */
export const leftovers = pgTable(
  'leftovers',
  {
    id: uuid('id').primaryKey(),
    /** The key that its entitlement has, or would have. */
    key: text('key').notNull(),
    /** The latest restore in which it was found. What is undecided stays so in later ones, until a comparison finds it gone. */
    epoch: integer('epoch').notNull(),
    provider: text('provider').notNull(),
    identity: text('identity').notNull(),
    access: json<{ [key: string]: unknown }>('access').notNull(),
    /** Its pin. */
    target: text('target').notNull(),
    subject: json<unknown>('subject').notNull(),
    /** The mark that the provider lists with it; null where it has none. */
    mark: text('mark'),
    /** Null until an operator decides. `keep` also counts for later restores. */
    answer: text('answer').$type<'keep' | 'revoke'>(),
    foundAt: instant('found_at').notNull().default(appNow),
  },
  (table) => [
    unique('leftovers_are_one_per_key').on(table.key),
    index('leftovers_open_idx').on(table.id).where(sql`${table.answer} is null`),
    check('leftover_answer_is_known', sql`${table.answer} in ('keep', 'revoke')`),
  ],
);

/** When each provider is compared with its rows next, so that one worker does it. */
export const driftAudits = pgTable(
  'drift_audits',
  {
    provider: text('provider').notNull(),
    /** When a worker may compare the provider next. While a worker compares it, this is when another worker may take over. */
    dueAt: instant('due_at').notNull(),
    /** When the provider was compared last; null before the first time. */
    auditedAt: instant('audited_at'),
  },
  (table) => [primaryKey({ name: 'drift_audits_pk', columns: [table.provider] })],
);

export type DriftKind = 'leftover' | 'unknown' | 'missing';

/** The differences that the latest comparison found; each is reported once, and counted while it lasts. */
export const drifts = pgTable(
  'drifts',
  {
    /** The key that its entitlement has, or would have. */
    key: text('key').notNull(),
    kind: text('kind').$type<DriftKind>().notNull(),
    provider: text('provider').notNull(),
    foundAt: instant('found_at').notNull().default(appNow),
    seenAt: instant('seen_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'drifts_pk', columns: [table.key, table.kind] }),
    index('drifts_of_provider_idx').on(table.provider, table.seenAt),
    check('drift_kind_is_known', sql`${table.kind} in ('leftover', 'unknown', 'missing')`),
  ],
);
