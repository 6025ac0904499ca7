import { sql } from 'drizzle-orm';
import { check, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';
import { logins, users } from './people.js';

/**
 * A login's session with one provider: the provider's own tokens, sealed, with a version that rises with each refresh.
 * It is deleted together with its login.
 */
export const sessions = pgTable(
  'sessions',
  {
    loginId: uuid('login_id')
      .notNull()
      .references(() => logins.id, { onDelete: 'cascade' }),
    provider: text('provider').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    /** The person's identity at the provider. */
    subject: text('subject').notNull(),
    version: integer('version').notNull(),
    /** The provider's tokens, sealed. */
    sealed: text('sealed').notNull(),
    /** The provider's id of the sign-in (OpenID Connect, `sid`). */
    sid: text('sid'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
    /** The session ends at this time, regardless of refreshes; the person must sign in again. */
    endsAt: instant('ends_at').notNull().default(sql`app_now() + interval '12 hours'`),
    /** When a worker requests new tokens; null when the session cannot be refreshed. */
    refreshAt: instant('refresh_at'),
    /** While this time is in the future, one worker is refreshing the session. */
    leaseUntil: instant('lease_until'),
  },
  (table) => [
    primaryKey({ name: 'sessions_pk', columns: [table.loginId, table.provider] }),
    index('sessions_identity_idx').on(table.provider, table.subject),
    index('sessions_user_idx').on(table.userId),
    index('sessions_expires_idx').on(table.expiresAt),
    index('sessions_refresh_idx').on(table.refreshAt).where(sql`${table.refreshAt} is not null`),
    check('session_version_counts_from_one', sql`${table.version} >= 1`),
  ],
);
