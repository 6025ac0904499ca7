import { sql } from 'drizzle-orm';
import { bigint, check, foreignKey, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';
import { users } from './people.js';
import { provisionedUsers } from './provisioning.js';

/** What ties a name to a person: an address, the subject of an issuer, or a user of a chat who acted for them. */
export type AttachmentKind = 'address' | 'subject' | 'chat';

/**
 * A name that a person, or an account of a directory, has or had, with the time. Triggers write the rows when an identity or an
 * account changes; another trigger enforces that a row is only ever closed, and never changed or deleted.
 */
export const attachments = pgTable(
  'attachments',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    /** The person, or the account of a directory; exactly one of them. */
    userId: uuid('user_id'),
    accountId: uuid('account_id'),
    provider: text('provider').notNull(),
    /** The identity that has the name; null for an account of a directory. */
    subject: text('subject'),
    kind: text('kind').$type<AttachmentKind>().notNull(),
    /** In the form that is compared: a folded address, or a JSON array of the issuer (or the provider of the chat) and the subject. */
    name: text('name').notNull(),
    since: instant('since').notNull().default(appNow),
    /** Null while it is attached. */
    until: instant('until'),
  },
  (table) => [
    foreignKey({ name: 'attachments_user_fk', columns: [table.userId], foreignColumns: [users.id] }),
    foreignKey({ name: 'attachments_account_fk', columns: [table.accountId], foreignColumns: [provisionedUsers.id] }),
    index('attachments_name_idx').on(table.name),
    index('attachments_user_idx').on(table.userId).where(sql`${table.userId} is not null`),
    index('attachments_account_idx').on(table.accountId).where(sql`${table.accountId} is not null`),
    check('attachment_has_one_holder', sql`num_nonnulls(${table.userId}, ${table.accountId}) = 1`),
    check('attachment_kind_is_known', sql`${table.kind} in ('address', 'subject', 'chat')`),
  ],
);

/**
 * Which account of a directory is, or was, that of a person. The latest one of a directory decides whether the person has left.
 * Closed when another account of the directory takes its place.
 */
export const accountAttachments = pgTable(
  'account_attachments',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    userId: uuid('user_id').notNull(),
    accountId: uuid('account_id').notNull(),
    /** The directory. */
    provider: text('provider').notNull(),
    /** By what the account was found: the subject of a sign-in, or a verified address. */
    proof: text('proof').$type<'subject' | 'address'>().notNull(),
    since: instant('since').notNull().default(appNow),
    until: instant('until'),
  },
  (table) => [
    foreignKey({ name: 'account_attachments_user_fk', columns: [table.userId], foreignColumns: [users.id] }),
    foreignKey({
      name: 'account_attachments_account_fk',
      columns: [table.accountId],
      foreignColumns: [provisionedUsers.id],
    }),
    index('account_attachments_user_idx').on(table.userId),
    index('account_attachments_account_idx').on(table.accountId),
    check('account_attachment_proof_is_known', sql`${table.proof} in ('subject', 'address')`),
  ],
);

/**
 * Two users that were separated: names that both had until then do not join them again. `one` is the lower id. A pair can be
 * separated again, when newer names have joined it.
 */
export const separations = pgTable(
  'separations',
  {
    one: uuid('one').notNull(),
    other: uuid('other').notNull(),
    reason: text('reason').notNull(),
    /** The latest attachment of the two at that time. */
    through: bigint('through', { mode: 'number' }).notNull(),
    separatedAt: instant('separated_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'separations_pk', columns: [table.one, table.other] }),
    foreignKey({ name: 'separations_one_fk', columns: [table.one], foreignColumns: [users.id] }),
    foreignKey({ name: 'separations_other_fk', columns: [table.other], foreignColumns: [users.id] }),
    check('separation_is_ordered', sql`${table.one} < ${table.other}`),
  ],
);
