import { sql } from 'drizzle-orm';
import { check, index, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/** A person, as the provider knows them that they first came from. */
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
  (table) => [unique('users_are_known_once_per_provider').on(table.provider, table.subject)],
);

/** What a person is to each provider that they are known at: a person may have several identities, an identity has one person. */
export const userIdentities = pgTable(
  'user_identities',
  {
    provider: text('provider').notNull(),
    subject: text('subject').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    email: text('email').notNull(),
    /** The address as addresses are compared (`foldAddress`); null for one that cannot be compared, and so is the same as none. */
    emailFolded: text('email_folded'),
    name: text('name').notNull(),
    /** As the provider says them. Which of them pass, and under which names, the configuration in force says at each reading. */
    groups: json<string[]>('groups').notNull(),
    organizations: json<string[]>('organizations').notNull().default([]),
    /** Whom the subject belongs to, where the provider has that: the same subject of one issuer is one person. */
    issuer: text('issuer'),
    linkedAt: instant('linked_at').notNull().default(appNow),
    /** When the provider last said all this. */
    toldAt: instant('told_at').notNull().default(appNow),
    updatedAt: instant('updated_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'user_identities_pk', columns: [table.provider, table.subject] }),
    index('user_identities_user_idx').on(table.userId),
    index('user_identities_email_folded_idx').on(table.emailFolded),
    index('user_identities_issuer_idx').on(table.issuer, table.subject).where(sql`${table.issuer} is not null`),
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
    /** What was proved last: the identity that the login speaks for. */
    provider: text('provider').notNull(),
    subject: text('subject'),
    label: text('label'),
    /** What the provider calls the sign-in that was proved last (OpenID Connect, `sid`). */
    sid: text('sid'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
    /** However much the login is used, it ends here. */
    endsAt: instant('ends_at').notNull().default(sql`app_now() + interval '12 hours'`),
  },
  (table) => [
    unique('logins_have_one_id').on(table.id),
    index('logins_identity_idx').on(table.provider, table.subject),
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
    /** Hash of the cookie that binds the flow to the browser that began it; null for a session that a program asked for. */
    browserHash: text('browser_hash'),
    /** The login that the flow was begun in: what it proves may be linked to its person. */
    loginId: uuid('login_id'),
    /** `session` only adds to that login; it signs nobody in. */
    purpose: text('purpose').notNull().default('login'),
    /** Hash of the code with which the browser fetches what a provider posted here; the answer itself is sealed. Once for each flow. */
    answerHash: text('answer_hash'),
    answer: text('answer'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
    consumedAt: instant('consumed_at'),
  },
  (table) => [
    index('oauth_flows_expires_idx').on(table.expiresAt),
    check('oauth_flow_purpose_is_known', sql`${table.purpose} in ('login', 'session')`),
    check(
      'oauth_flow_is_bound',
      sql`${table.browserHash} is not null or (${table.purpose} = 'session' and ${table.loginId} is not null)`,
    ),
    check('oauth_flow_answer_has_its_code', sql`(${table.answerHash} is null) = (${table.answer} is null)`),
  ],
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
    subject: text('subject'),
    codeChallenge: text('code_challenge').notNull(),
    /** The provider's tokens on their way to the program's session, sealed. */
    sealed: text('sealed'),
    /** The browser's login that it was approved in: with that login the code is gone. Absent in codes of older versions. */
    loginId: uuid('login_id').references(() => logins.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    consumedAt: instant('consumed_at'),
  },
  (table) => [index('login_codes_expires_idx').on(table.expiresAt), index('login_codes_login_idx').on(table.loginId)],
);

/** A program that waits for its person's click before it gets a code: bound to the browser's login, and gone with it. */
export const programLogins = pgTable(
  'program_logins',
  {
    requestHash: text('request_hash').primaryKey(),
    loginId: uuid('login_id')
      .notNull()
      .references(() => logins.id, { onDelete: 'cascade' }),
    /** Hash of the cookie of the browser that the sign-in was begun in. */
    browserHash: text('browser_hash').notNull(),
    provider: text('provider').notNull(),
    subject: text('subject').notNull(),
    /** The name that the program gives itself, not verified. */
    label: text('label'),
    callback: text('callback').notNull(),
    codeChallenge: text('code_challenge').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('program_logins_expires_idx').on(table.expiresAt),
    index('program_logins_login_idx').on(table.loginId),
  ],
);

/** A login that a machine without a browser asked for, until somebody confirms it in theirs (RFC 8628). Both codes are kept as hashes. */
export const deviceLogins = pgTable(
  'device_logins',
  {
    deviceHash: text('device_hash').primaryKey(),
    /** Of the short code that a person types. */
    userCodeHash: text('user_code_hash').notNull(),
    /** What the machine says of itself; nobody has checked it. */
    label: text('label').notNull(),
    status: text('status').notNull().default('open'),
    /** The login it was confirmed in, and as which identity: with that login, what it confirmed is gone. */
    loginId: uuid('login_id').references(() => logins.id, { onDelete: 'cascade' }),
    provider: text('provider'),
    subject: text('subject'),
    polledAt: instant('polled_at'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    unique('device_logins_have_one_user_code').on(table.userCodeHash),
    index('device_logins_expires_idx').on(table.expiresAt),
    index('device_logins_login_idx').on(table.loginId),
    check('device_login_status_is_known', sql`${table.status} in ('open', 'approved', 'denied', 'used')`),
    check('device_login_has_its_person', sql`${table.status} <> 'approved' or ${table.loginId} is not null`),
  ],
);

/** Logout tokens that a provider has sent, for as long as they could be sent again (OpenID Connect Back-Channel Logout, 2.6). */
export const logoutTokens = pgTable(
  'logout_tokens',
  {
    provider: text('provider').notNull(),
    tokenHash: text('token_hash').notNull(),
    sid: text('sid'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ name: 'logout_tokens_pk', columns: [table.provider, table.tokenHash] }),
    index('logout_tokens_expires_idx').on(table.expiresAt),
  ],
);
