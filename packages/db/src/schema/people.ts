import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/** A person, as described by the provider of their first sign-in. */
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
    /** Since when a directory says that the person has left: no login of theirs is valid, and none is created. */
    deprovisionedAt: instant('deprovisioned_at'),
  },
  (table) => [
    unique('users_are_known_once_per_provider').on(table.provider, table.subject),
    index('users_email_idx').on(table.email, table.id),
  ],
);

/** The roles that a person wants to find first. A role may no longer be in the configuration. */
export const starredRoles = pgTable(
  'starred_roles',
  {
    userId: uuid('user_id').notNull(),
    role: text('role').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'starred_roles_pk', columns: [table.userId, table.role] }),
    foreignKey({ name: 'starred_roles_user_fk', columns: [table.userId], foreignColumns: [users.id] }),
  ],
);

/** The identity of a person at a provider. A person may have several identities; an identity has one person. */
export const userIdentities = pgTable(
  'user_identities',
  {
    provider: text('provider').notNull(),
    subject: text('subject').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    email: text('email').notNull(),
    /** The folded address (`foldAddress`); null for an address that cannot be compared, which counts as no address. */
    emailFolded: text('email_folded'),
    name: text('name').notNull(),
    /**
     * As the provider returns them. The configuration in force decides at each reading which of them are accepted, and
     * under which names.
     */
    groups: json<string[]>('groups').notNull(),
    organizations: json<string[]>('organizations').notNull().default([]),
    /** The issuer of the subject, where the provider has one: the same subject of one issuer is one person. */
    issuer: text('issuer'),
    linkedAt: instant('linked_at').notNull().default(appNow),
    /** When the provider last returned this data. */
    toldAt: instant('told_at').notNull().default(appNow),
    updatedAt: instant('updated_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'user_identities_pk', columns: [table.provider, table.subject] }),
    index('user_identities_user_idx').on(table.userId),
    index('user_identities_email_folded_idx').on(table.emailFolded),
    // Approvers are found by their groups.
    index('user_identities_groups_idx').using('gin', table.groups),
    index('user_identities_issuer_idx').on(table.issuer, table.subject).where(sql`${table.issuer} is not null`),
  ],
);

/**
 * A credential of a caller: the login of a browser or a command line, or a token that an operator created. Only the
 * hash of its secret is stored.
 */
export const logins = pgTable(
  'logins',
  {
    secretHash: text('secret_hash').primaryKey(),
    id: uuid('id').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    kind: text('kind').notNull(),
    /** The identity that was proved last, for which the login stands. */
    provider: text('provider').notNull(),
    subject: text('subject'),
    label: text('label'),
    /** The provider's id of the latest sign-in (OpenID Connect, `sid`). */
    sid: text('sid'),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
    /** The login ends at this time, regardless of its use. */
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

/** A sign-in that was sent to its provider and has not returned yet. Consumed once. */
export const oauthFlows = pgTable(
  'oauth_flows',
  {
    stateHash: text('state_hash').primaryKey(),
    provider: text('provider').notNull(),
    callback: text('callback'),
    /** PKCE verifier and nonce of the provider's flow, sealed. */
    sealed: text('sealed').notNull(),
    /** S256 challenge of a program that will exchange the code from its callback. */
    codeChallenge: text('code_challenge'),
    /**
     * Hash of the cookie that binds the flow to the browser that started it; null for a session that a program
     * requested.
     */
    browserHash: text('browser_hash'),
    /** The login in which the flow was started: the identity that it proves may be linked to the login's person. */
    loginId: uuid('login_id'),
    /** `session` only adds a session to that login; it creates no login. */
    purpose: text('purpose').notNull().default('login'),
    /**
     * Hash of the code with which the browser fetches the response that a provider posted here; the response itself is
     * sealed. One per flow.
     */
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

/** A code for a program's callback, to be exchanged once for its login (RFC 8252, RFC 7636). */
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
    /** The provider's tokens for the program's session, sealed. */
    sealed: text('sealed'),
    /**
     * The browser's login in which it was approved; the code is deleted with that login. Absent in codes of older
     * versions.
     */
    loginId: uuid('login_id').references(() => logins.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    consumedAt: instant('consumed_at'),
  },
  (table) => [index('login_codes_expires_idx').on(table.expiresAt), index('login_codes_login_idx').on(table.loginId)],
);

/**
 * A program that waits until its person confirms the sign-in, before it gets a code. It is bound to the browser's login, and
 * deleted with that login.
 */
export const programLogins = pgTable(
  'program_logins',
  {
    requestHash: text('request_hash').primaryKey(),
    loginId: uuid('login_id')
      .notNull()
      .references(() => logins.id, { onDelete: 'cascade' }),
    /** Hash of the cookie of the browser in which the sign-in was started. */
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

/**
 * A login requested by a machine without a browser, until a person approves it in theirs (RFC 8628). Both codes are
 * stored as hashes.
 */
export const deviceLogins = pgTable(
  'device_logins',
  {
    deviceHash: text('device_hash').primaryKey(),
    /** Hash of the short code that a person types. */
    userCodeHash: text('user_code_hash').notNull(),
    /** The name that the machine gives itself, not verified. */
    label: text('label').notNull(),
    status: text('status').notNull().default('open'),
    /** The login in which it was approved, and the identity that it was approved for; deleted with that login. */
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

/**
 * Logout tokens received from a provider, kept as long as they could be sent again (OpenID Connect Back-Channel
 * Logout, 2.6).
 */
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
