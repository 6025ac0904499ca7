import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  pgSequence,
  pgTable,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { approvals } from './approvals.js';
import { appNow, instant, json } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

/** The kinds of events that people can be notified of. */
export type NoticeKind =
  | 'request.waiting'
  | 'request.decided'
  | 'request.comment'
  | 'access.active'
  | 'access.ending'
  | 'access.ended'
  | 'revocation.overdue'
  | 'access.drifted'
  | 'people.joined'
  | 'break_glass.used'
  | 'review.opened'
  | 'review.overdue'
  | 'requests.digest';

/**
 * The kinds for which the configuration in force sends messages; empty while it names no channel. Triggers write notices only for
 * these kinds.
 */
export const toldKinds = pgTable('told_kinds', { kind: text('kind').$type<NoticeKind>().primaryKey() });

/**
 * The order in which notices and messages were taken: who was served last waits for all who were served earlier
 * (decision 0171). A sequence, because clocks are stepped and many messages are taken within one millisecond.
 */
export const messageTurns = pgSequence('message_turns');

/** The cause of what no person has caused, such as a daily digest. */
const noCause = '00000000-0000-0000-0000-000000000000';

/**
 * An event that people must be notified of. It is written in the transaction of the event, mostly by a trigger, or by
 * the sweep; later it becomes one message for each person and channel.
 */
export const notices = pgTable(
  'notices',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    /** Only one notice is written for each key. */
    key: text('key').notNull(),
    kind: text('kind').$type<NoticeKind>().notNull(),
    executionId: uuid('execution_id'),
    approvalId: uuid('approval_id'),
    entitlementId: uuid('entitlement_id'),
    /** The recipient; null where the recipients follow from the kind. */
    userId: uuid('user_id'),
    /** The text, where no other row contains it when the messages are written. */
    text: text('text'),
    /** When the access ends, for a reminder of that end. */
    endsAt: instant('ends_at'),
    urgent: boolean('urgent').notNull().default(false),
    /** The person who caused it, by whom notices take turns: the requester, unless a comment's author. A trigger fills it in. */
    cause: uuid('cause').notNull().default(noCause),
    dueAt: instant('due_at').notNull().default(appNow),
    /** When its messages were queued. */
    toldAt: instant('told_at'),
    /** When it was taken last, in the order of `messageTurns`. */
    turn: bigint('turn', { mode: 'number' }),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    unique('notices_are_told_once').on(table.key),
    index('notices_due_idx').on(table.dueAt).where(sql`${table.toldAt} is null`),
    index('notices_told_idx').on(table.toldAt).where(sql`${table.toldAt} is not null`),
    index('notices_turns_idx').on(table.cause, table.turn).where(sql`${table.turn} is not null`),
  ],
);

/** Which messages a person wants, on which channels and when; a person without a row receives every message on every channel. */
export const notificationPreferences = pgTable(
  'notification_preferences',
  {
    userId: uuid('user_id').primaryKey(),
    /** Null for all that the configuration names. */
    channels: json<string[]>('channels'),
    /** The kinds that they do not want. */
    muted: json<NoticeKind[]>('muted').notNull().default([]),
    /** Hours of the day, `22:00`; both or neither. */
    quietFrom: text('quiet_from'),
    quietTo: text('quiet_to'),
    /** IANA name. */
    timeZone: text('time_zone'),
    updatedAt: instant('updated_at').notNull().default(appNow),
  },
  (table) => [
    foreignKey({ name: 'notification_preferences_user_fk', columns: [table.userId], foreignColumns: [users.id] }),
    check('quiet_hours_are_whole', sql`(${table.quietFrom} is null) = (${table.quietTo} is null)`),
  ],
);

/** Channels whose receiver accepts no more messages, until the configuration changes. */
export const disabledChannels = pgTable('disabled_channels', {
  provider: text('provider').primaryKey(),
  /** The configuration in which it was disabled. */
  catalogVersion: integer('catalog_version').notNull(),
  reason: text('reason').notNull(),
  disabledAt: instant('disabled_at').notNull().default(appNow),
});

/**
 * A message to a recipient on one channel: about an approval or a notice, or from a step of a workflow. It is delivered at least
 * once; a message about an approval is revised when the approval has closed. The text is written at each delivery, tokens included.
 */
export const messages = pgTable(
  'messages',
  {
    id: uuid('id').primaryKey(),
    /** The idempotency key with which the message is sent to the provider. */
    key: text('key').notNull(),
    /** What it is about: an approval, a notice, or the step of an execution that sends it. */
    approvalId: uuid('approval_id'),
    noticeId: uuid('notice_id'),
    executionId: uuid('execution_id'),
    stepKey: text('step_key'),
    provider: text('provider').notNull(),
    recipient: text('recipient').notNull(),
    /** The title and text that the workflow gives; null for the usual ones. */
    title: text('title'),
    text: text('text'),
    /** Where it was delivered, in the connector's shape. */
    receipt: json<{ [key: string]: unknown }>('receipt'),
    deliveredAt: instant('delivered_at'),
    /** When nothing is left to do: delivered or revised, not needed any more, or given up. */
    closedAt: instant('closed_at'),
    /** When it was given up without a delivery. */
    failedAt: instant('failed_at'),
    /** The time of the next attempt; a delivery in progress moves it to a later time. */
    dueAt: instant('due_at').notNull().default(appNow),
    attempts: integer('attempts').notNull().default(0),
    /** The person who caused it, by whom messages take turns. */
    cause: uuid('cause').notNull().default(noCause),
    /** 2 for alarms, 1 for what is urgent, 0 otherwise (`urgencies`). */
    urgency: smallint('urgency').notNull().default(0),
    /** When it was attempted last, in the order of `messageTurns`. */
    turn: bigint('turn', { mode: 'number' }),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    unique('messages_are_queued_once').on(table.key),
    foreignKey({ name: 'messages_approval_fk', columns: [table.approvalId], foreignColumns: [approvals.id] }),
    foreignKey({ name: 'messages_notice_fk', columns: [table.noticeId], foreignColumns: [notices.id] }),
    foreignKey({ name: 'messages_execution_fk', columns: [table.executionId], foreignColumns: [executions.id] }),
    check(
      'message_is_about_one_thing',
      sql`num_nonnulls(${table.approvalId}, ${table.noticeId}, ${table.executionId}) = 1`,
    ),
    check(
      'message_of_a_step_is_whole',
      sql`${table.executionId} is null or num_nulls(${table.stepKey}, ${table.title}, ${table.text}) = 0`,
    ),
    index('messages_of_step_idx').on(table.executionId, table.stepKey).where(sql`${table.executionId} is not null`),
    index('messages_failed_idx').on(table.failedAt).where(sql`${table.failedAt} is not null`),
    index('messages_open_idx').on(table.dueAt).where(sql`${table.closedAt} is null`),
    index('messages_closed_idx').on(table.closedAt).where(sql`${table.closedAt} is not null`),
    index('messages_approval_idx').on(table.approvalId).where(sql`${table.approvalId} is not null`),
    index('messages_turns_idx').on(table.provider, table.cause, table.turn).where(sql`${table.turn} is not null`),
    index('messages_recipient_turns_idx')
      .on(table.provider, table.cause, table.recipient, table.turn)
      .where(sql`${table.turn} is not null`),
    index('messages_notice_idx').on(table.noticeId).where(sql`${table.noticeId} is not null`),
  ],
);
