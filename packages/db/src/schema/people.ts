import { sql } from 'drizzle-orm';
import { check, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/** A person, as a provider knows them. */
export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    provider: text('provider').notNull(),
    subject: text('subject').notNull(),
    email: text('email').notNull(),
    name: text('name').notNull(),
    groups: json<string[]>('groups').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    updatedAt: instant('updated_at').notNull().default(appNow),
  },
  (table) => [
    unique('users_are_known_once_per_provider').on(table.provider, table.subject),
    index('users_email_idx').on(sql`lower(${table.email})`),
  ],
);

/** A proof of who is calling: a browser's login, a command line's, or a token an operator made. Only the hash of its secret is kept. */
export const logins = pgTable(
  'logins',
  {
    secretHash: text('secret_hash').primaryKey(),
    id: uuid('id').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    kind: text('kind').notNull(),
    provider: text('provider').notNull(),
    label: text('label'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    unique('logins_have_one_id').on(table.id),
    index('logins_user_idx').on(table.userId),
    index('logins_expires_idx').on(table.expiresAt),
    check('login_kind_is_known', sql`${table.kind} in ('browser', 'device', 'token')`),
  ],
);

/** A login that has been sent to its provider and has not come back yet. Consumed once. */
export const oauthFlows = pgTable(
  'oauth_flows',
  {
    stateHash: text('state_hash').primaryKey(),
    provider: text('provider').notNull(),
    callback: text('callback'),
    /** PKCE verifier and nonce of the provider's flow, sealed. */
    sealed: text('sealed').notNull(),
    /** S256 challenge of a program that will exchange the code it gets at its loopback callback. */
    codeChallenge: text('code_challenge'),
    /** Hash of the cookie that binds the flow to the browser that began it. */
    browserHash: text('browser_hash').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
    consumedAt: instant('consumed_at'),
  },
  (table) => [index('oauth_flows_expires_idx').on(table.expiresAt)],
);

/** A code handed to a program's loopback callback, to be exchanged for its login once (RFC 8252, RFC 7636). */
export const loginCodes = pgTable(
  'login_codes',
  {
    codeHash: text('code_hash').primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    provider: text('provider').notNull(),
    codeChallenge: text('code_challenge').notNull(),
    expiresAt: instant('expires_at').notNull(),
    consumedAt: instant('consumed_at'),
  },
  (table) => [index('login_codes_expires_idx').on(table.expiresAt)],
);
