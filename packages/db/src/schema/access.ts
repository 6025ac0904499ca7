import { type SQL, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  index,
  integer,
  pgTable,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

export type EntitlementState = 'absent' | 'granting' | 'granted' | 'revoking';
export type EndedReason = 'returned' | 'revoked' | 'cancelled' | 'terminated' | 'faulted' | 'failed' | 'lapsed';

/** What a provider may hold on our account: this identity, this access, there. */
export const entitlements = pgTable(
  'entitlements',
  {
    id: uuid('id').primaryKey(),
    /** Digest of provider, target and subject; of provider, identity and access while the row has no pin. */
    key: text('key').notNull(),
    provider: text('provider').notNull(),
    /** The fingerprint of where it is held, or null in a row of an older version that could not be pinned yet. */
    target: text('target'),
    /** The identifiers there that do not change, as the connector says them; null exactly when the target is. */
    subject: json<unknown>('subject'),
    /** Digest of the address that led there when it was last seen to; null where the connector tells none. */
    address: text('address'),
    /** The latest call met another target: what is held where it was granted cannot be taken away until the address leads back. */
    elsewhere: boolean('elsewhere').notNull().default(false),
    /** Labels: the names of the identity and the access when they were last intended. */
    identity: text('identity').notNull(),
    access: json<{ [key: string]: unknown }>('access').notNull(),
    state: text('state').$type<EntitlementState>().notNull(),
    /** When the latest grant call was claimed; R5 measures its quarantine from here. */
    lastGrantCallAt: instant('last_grant_call_at'),
    dueAt: instant('due_at').notNull().default(appNow),
    leaseUntil: instant('lease_until'),
    /** Rises with every claim; a record with an older fence changes nothing. */
    fence: integer('fence').notNull().default(0),
    /** The latest claim's id, which its process chose beforehand, and the fence that it made: `freeLostClaim` looks for it. */
    claim: text('claim'),
    failures: integer('failures').notNull().default(0),
    lastError: text('last_error'),
    /** What the provider is still working on, as it said in answer to the latest call; null when that call ended otherwise. */
    pending: text('pending'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    unique('entitlements_are_one_per_key').on(table.key),
    index('entitlements_due_idx').on(table.dueAt).where(sql`${table.state} <> 'absent'`),
    // Each provider's due rows are looked for by themselves.
    index('entitlements_due_there_idx').on(table.provider, table.dueAt).where(sql`${table.state} <> 'absent'`),
    index('entitlements_elsewhere_idx').on(table.id).where(sql`${table.elsewhere}`),
    check('entitlement_state_is_known', sql`${table.state} in ('absent', 'granting', 'granted', 'revoking')`),
    check(
      'entitlement_was_called_before_it_is_granted',
      sql`${table.state} <> 'granted' or ${table.lastGrantCallAt} is not null`,
    ),
    check('entitlement_is_pinned_whole', sql`(${table.target} is null) = (${table.subject} is null)`),
  ],
);

/**
 * Returns when a grant is over unless it is ended before: its expiry, or while it waits the time by which it has to be active.
 * Queries have to say it in these words to use the indexes.
 */
export function overAt({ expiresAt, activateBy }: { expiresAt: AnyPgColumn; activateBy: AnyPgColumn }): SQL {
  return sql`coalesce(${expiresAt}, ${activateBy})`;
}

/** A time-bounded claim on an entitlement. Expiry needs no write: a grant is live while it is not ended and not expired (R3). */
export const grants = pgTable(
  'grants',
  {
    id: uuid('id').primaryKey(),
    executionId: uuid('execution_id')
      .notNull()
      .references(() => executions.id),
    stepKey: text('step_key').notNull(),
    entitlementId: uuid('entitlement_id')
      .notNull()
      .references(() => entitlements.id),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    /** How long it lasts once active, in milliseconds. */
    duration: bigint('duration', { mode: 'number' }).notNull(),
    /** When the provider was seen to hold it (R6); the clock of the grant starts here. */
    activatedAt: instant('activated_at'),
    /** When a grant that waits for its provider is over. Null in rows of older versions, where `expires_at` said it meanwhile. */
    activateBy: instant('activate_by'),
    /** When the access ends. Null until it is active, because its clock has not started. */
    expiresAt: instant('expires_at'),
    endedAt: instant('ended_at'),
    endedReason: text('ended_reason').$type<EndedReason>(),
    /** When the provider was seen not to hold it any more (R6). A grant that ended while another keeps the access has none yet. */
    goneAt: instant('gone_at'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    // A step whose approval ended before the provider held the access is granted anew when it was approved again.
    uniqueIndex('grants_are_one_per_step_and_entitlement')
      .on(table.executionId, table.stepKey, table.entitlementId)
      .where(sql`coalesce(${table.endedReason}, '') <> 'lapsed'`),
    index('grants_live_idx').on(table.entitlementId, overAt(table)).where(sql`${table.endedAt} is null`),
    // What ended and is not gone, by when it ended: what is overdue is at its beginning.
    index('grants_over_idx')
      .on(sql`least(${table.endedAt}, ${overAt(table)})`, table.entitlementId)
      .where(sql`${table.goneAt} is null`),
    index('grants_owed_idx').on(table.entitlementId).where(sql`${table.goneAt} is null`),
    index('grants_held_idx').on(table.userId, overAt(table)).where(sql`${table.endedAt} is null`),
    check('grant_must_expire_after_creation', sql`${table.expiresAt} > ${table.createdAt}`),
    check(
      'grant_has_an_end',
      sql`${table.expiresAt} is not null or (${table.activatedAt} is null and ${table.activateBy} is not null)`,
    ),
    check('grant_ends_with_a_reason', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
    check(
      'grant_end_reason_is_known',
      sql`${table.endedReason} in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed', 'lapsed')`,
    ),
  ],
);
