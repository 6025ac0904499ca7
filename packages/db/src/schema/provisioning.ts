import { sql } from 'drizzle-orm';
import { boolean, foreignKey, index, pgTable, primaryKey, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';

/** The data of a person that a directory sent, apart from the columns of their row; returned to the directory unchanged. */
export interface ProvisionedDetails {
  displayName?: string;
  name?: { formatted?: string; familyName?: string; givenName?: string };
  emails?: { value: string; type?: string; primary?: boolean }[];
}

/** A bearer token with which a directory provisions people of one provider by SCIM. Only its hash is stored. */
export const provisioningTokens = pgTable(
  'provisioning_tokens',
  {
    id: uuid('id').primaryKey(),
    provider: text('provider').notNull(),
    secretHash: text('secret_hash').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    unique('provisioning_tokens_have_one_secret').on(table.secretHash),
    index('provisioning_tokens_provider_idx').on(table.provider),
  ],
);

/** A person as a directory provisioned them by SCIM: an account in the directory, which may have no user in Belay yet. */
export const provisionedUsers = pgTable(
  'provisioned_users',
  {
    id: uuid('id').primaryKey(),
    provider: text('provider').notNull(),
    userName: text('user_name').notNull(),
    /** Folded (`foldName`): SCIM compares names of users without case. */
    userNameFolded: text('user_name_folded').notNull(),
    externalId: text('external_id'),
    active: boolean('active').notNull(),
    /** The folded e-mail addresses by which its identity is found. */
    addresses: json<string[]>('addresses').notNull(),
    /** The folded display name and e-mail addresses, by which SCIM's filters find the account. */
    searched: json<{ displayName: string | null; emails: string[] }>('searched')
      .notNull()
      .default({ displayName: null, emails: [] }),
    details: json<ProvisionedDetails>('details').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    updatedAt: instant('updated_at').notNull().default(appNow),
    /** Deleted by the directory: SCIM no longer shows it, and its person stays locked out until it is created again. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    uniqueIndex('provisioned_users_have_one_name')
      .on(table.provider, table.userNameFolded)
      .where(sql`${table.deletedAt} is null`),
    index('provisioned_users_name_idx').on(table.userNameFolded),
    index('provisioned_users_exact_name_idx').on(table.userName),
    index('provisioned_users_external_idx').on(table.externalId),
    index('provisioned_users_addresses_idx').using('gin', table.addresses),
    index('provisioned_users_provider_idx').on(table.provider, table.id),
  ],
);

/** A group as a directory provisioned it by SCIM. */
export const provisionedGroups = pgTable(
  'provisioned_groups',
  {
    id: uuid('id').primaryKey(),
    provider: text('provider').notNull(),
    displayName: text('display_name').notNull(),
    /** Folded (`foldName`), by which SCIM's filter finds the group. */
    displayNameFolded: text('display_name_folded').notNull().default(''),
    externalId: text('external_id'),
    createdAt: instant('created_at').notNull().default(appNow),
    updatedAt: instant('updated_at').notNull().default(appNow),
  },
  (table) => [
    unique('provisioned_groups_have_one_name').on(table.provider, table.displayName),
    index('provisioned_groups_provider_idx').on(table.provider, table.id),
  ],
);

/** Which provisioned users are in which provisioned groups. */
export const provisionedMembers = pgTable(
  'provisioned_members',
  {
    groupId: uuid('group_id').notNull(),
    userId: uuid('user_id').notNull(),
  },
  (table) => [
    primaryKey({ name: 'provisioned_members_pk', columns: [table.groupId, table.userId] }),
    foreignKey({
      name: 'provisioned_members_group_fk',
      columns: [table.groupId],
      foreignColumns: [provisionedGroups.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'provisioned_members_user_fk',
      columns: [table.userId],
      foreignColumns: [provisionedUsers.id],
    }).onDelete('cascade'),
    index('provisioned_members_user_idx').on(table.userId),
  ],
);
