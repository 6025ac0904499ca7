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
export type EndedReason =
  | 'returned'
  | 'revoked'
  | 'cancelled'
  | 'terminated'
  | 'faulted'
  | 'failed'
  | 'lapsed'
  | 'deprovisioned';

/** An identity and an access by their names, as they were committed. */
export interface CommittedName {
  identity: string;
  access: { [key: string]: unknown };
}

/** What a provider may hold for us: this access, of this identity, at this provider. */
export const entitlements = pgTable(
  'entitlements',
  {
    id: uuid('id').primaryKey(),
    /** Digest of the connector's type, the target's realm and the subject. */
    key: text('key').notNull(),
    /** The provider through which it is held, or was held last: while it is not absent, no other provider may call. */
    provider: text('provider').notNull(),
    /** The fingerprint of the target where it is held. */
    target: text('target').notNull(),
    /** The provider's permanent identifiers, as the connector returns them. */
    subject: json<unknown>('subject').notNull(),
    /**
     * What connectors are told beside the pin: each pair of names that was committed with a grant, or found at the provider, since the
     * row was last absent, the latest last. Names are added while the row is not absent, and never changed.
     */
    names: json<CommittedName[]>('names').notNull(),
    /** Digest of the address that led to the target at the latest check; null when the connector returns no address. */
    address: text('address'),
    /**
     * The latest call met another target: the access cannot be revoked until the address leads back to the target
     * where it was granted.
     */
    elsewhere: boolean('elsewhere').notNull().default(false),
    /** How far the target's history had come when the latest result of a call was read back there; null when that cannot be told. */
    position: text('position'),
    /** When the latest result of a call was recorded; null before the first. */
    recordedAt: instant('recorded_at'),
    /** Labels for people, of when the row was last absent: no decision and no call reads them. */
    identity: text('identity').notNull(),
    access: json<{ [key: string]: unknown }>('access').notNull(),
    state: text('state').$type<EntitlementState>().notNull(),
    /** When the latest grant call was claimed; R5 measures its quarantine from here. */
    lastGrantCallAt: instant('last_grant_call_at'),
    /**
     * How many grant calls were claimed since the entitlement was absent, less those whose own record read them back as held. Each of
     * the others may still land.
     */
    openCalls: integer('open_calls').notNull().default(0),
    dueAt: instant('due_at').notNull().default(appNow),
    leaseUntil: instant('lease_until'),
    /** Rises with every claim; a record with an older fence changes nothing. */
    fence: integer('fence').notNull().default(0),
    /**
     * The id of the latest claim, chosen by its process in advance, and the fence of that claim; `freeLostClaim`
     * searches for it.
     */
    claim: text('claim'),
    failures: integer('failures').notNull().default(0),
    lastError: text('last_error'),
    /** What the provider said of the reason for it, which only operators read; null for nothing. */
    said: text('said'),
    /** What the provider is still working on, by its response to the latest call; null when that call ended otherwise. */
    pending: text('pending'),
    /**
     * What the latest revocation left at the provider, because it can be another's: the message of `LeftToOthers`. An operator has
     * to accept it, or to remove it there.
     */
    leftToOthers: text('left_to_others'),
    /** What of it an operator has accepted: the same message. */
    accepted: text('accepted'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    unique('entitlements_are_one_per_key').on(table.key),
    index('entitlements_due_idx').on(table.dueAt).where(sql`${table.state} <> 'absent'`),
    // The due rows of each provider are searched separately.
    index('entitlements_due_there_idx').on(table.provider, table.dueAt).where(sql`${table.state} <> 'absent'`),
    index('entitlements_elsewhere_idx').on(table.id).where(sql`${table.elsewhere}`),
    // Entitlements whose latest call failed, by provider, so that counters read no others.
    index('entitlements_failing_idx')
      .on(table.provider)
      .where(sql`${table.state} <> 'absent' and ${table.failures} > 0`),
    check('entitlement_state_is_known', sql`${table.state} in ('absent', 'granting', 'granted', 'revoking')`),
    check(
      'entitlement_was_called_before_it_is_granted',
      sql`${table.state} <> 'granted' or ${table.lastGrantCallAt} is not null`,
    ),
    check('entitlement_is_of_one_provider', sql`${table.provider} <> ''`),
  ],
);

/**
 * Returns the SQL for when a grant ends unless it is ended earlier: its expiry or, while it waits for its provider,
 * the time by which it must be active. Queries must use this expression to use the indexes.
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
    /** The provider that the request named: the row of the entitlement may be another provider's since. Null in rows of older versions. */
    through: text('through'),
    /** The names of its identity and access as they were committed; in a slot, the access says the degree. Never changed. */
    identity: text('identity').notNull(),
    access: json<{ [key: string]: unknown }>('access').notNull(),
    /**
     * The names by which the account belonged to a person when the grant was intended: folded addresses and sign-ins
     * (`namesOfAccount`).
     */
    knownAs: json<string[]>('known_as').notNull(),
    /** Its duration once active, in milliseconds. */
    duration: bigint('duration', { mode: 'number' }).notNull(),
    /** When it was verified that the provider holds it (R6); the clock of the grant starts here. */
    activatedAt: instant('activated_at'),
    /** When a grant that waits for its provider expires. */
    activateBy: instant('activate_by').notNull(),
    /** When the access ends. Null until the grant is active, because its clock has not started. */
    expiresAt: instant('expires_at'),
    endedAt: instant('ended_at'),
    endedReason: text('ended_reason').$type<EndedReason>(),
    /**
     * When it was verified that the provider no longer holds it (R6). Null for a grant that ended while another one
     * keeps the access.
     */
    goneAt: instant('gone_at'),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    // When an approval ends before the provider holds the access, the step grants again after a new approval, so lapsed grants are
    // exempt from this rule. The index is not partial, because the deletion of executions uses it too, to find the grants that
    // refer to them.
    uniqueIndex('grants_are_one_per_step_and_entitlement').on(
      table.executionId,
      table.stepKey,
      sql`(case when ${table.endedReason} = 'lapsed' then ${table.id} else ${table.entitlementId} end)`,
    ),
    index('grants_live_idx').on(table.entitlementId, overAt(table)).where(sql`${table.endedAt} is null`),
    // Grants that ended and are not verified as removed, by end: overdue ones come first.
    index('grants_over_idx')
      .on(sql`least(${table.endedAt}, ${overAt(table)})`, table.entitlementId)
      .where(sql`${table.goneAt} is null`),
    index('grants_owed_idx').on(table.entitlementId).where(sql`${table.goneAt} is null`),
    index('grants_held_idx').on(table.userId, overAt(table)).where(sql`${table.endedAt} is null`),
    check('grant_must_expire_after_creation', sql`${table.expiresAt} > ${table.createdAt}`),
    check('grant_has_an_end', sql`${table.expiresAt} is not null or ${table.activatedAt} is null`),
    check('grant_ends_with_a_reason', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
    check(
      'grant_end_reason_is_known',
      sql`${table.endedReason} in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed', 'lapsed', 'deprovisioned')`,
    ),
  ],
);
