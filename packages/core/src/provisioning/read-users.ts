import { notFound } from '@belay/contract/errors';
import { type Database, provisionedGroups, provisionedMembers, provisionedUsers, type Transaction } from '@belay/db';
import { and, asc, count, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isId } from '../find-execution.js';
import { foldName } from '../people/names.js';

export interface ProvisionedUser
  extends Omit<typeof provisionedUsers.$inferSelect, 'addresses' | 'userNameFolded' | 'searched'> {
  groups: { id: string; displayName: string }[];
}

/**
 * A user matches when they have the value of every field that is present; `userName`, `displayName` and `email` are compared
 * without case.
 */
export interface UserFilter {
  id?: string | undefined;
  userName?: string | undefined;
  externalId?: string | undefined;
  displayName?: string | undefined;
  email?: string | undefined;
  /** The type that `email` has, such as `work`. */
  emailType?: string | undefined;
  active?: boolean | undefined;
}

export interface Page {
  /** How many rows to skip. */
  offset: number;
  limit: number;
}

/** Returns a person that a directory provisioned. Throws `not_found`. */
export async function getProvisionedUser(ctx: Store, provider: string, id: string): Promise<ProvisionedUser> {
  const { rows } = await listProvisionedUsers(ctx, provider, { id }, { offset: 0, limit: 1 });
  const [user] = rows;
  if (!user) throw notFound('The user');
  return user;
}

/** Returns a page of the matching people that a directory provisioned, oldest first, and how many match. */
export async function listProvisionedUsers(
  ctx: Store,
  provider: string,
  filter: UserFilter,
  page: Page,
): Promise<{ total: number; rows: ProvisionedUser[] }> {
  const { id, userName, externalId, displayName, email, emailType, active } = filter;
  const { searched } = provisionedUsers;
  const where = and(
    eq(provisionedUsers.provider, provider),
    isNull(provisionedUsers.deletedAt),
    matchId(provisionedUsers, id),
    userName === undefined ? undefined : eq(provisionedUsers.userNameFolded, foldName(userName)),
    externalId === undefined ? undefined : eq(provisionedUsers.externalId, externalId),
    displayName === undefined ? undefined : sql`${searched} ->> 'displayName' = ${foldName(displayName)}`,
    email === undefined ? undefined : sql`jsonb_exists(${searched} -> 'emails', ${foldName(email)})`,
    emailType === undefined ? undefined : hasAddressOf(emailType, email ?? ''),
    active === undefined ? undefined : eq(provisionedUsers.active, active),
  );
  const [all] = await ctx.db.select({ total: count() }).from(provisionedUsers).where(where);
  const rows = await ctx.db
    .select()
    .from(provisionedUsers)
    .where(where)
    .orderBy(asc(provisionedUsers.id))
    .limit(page.limit)
    .offset(page.offset);
  return { total: all?.total ?? 0, rows: await withGroups(ctx.db, rows) };
}

/** Returns the condition that a user has an address of a type; `searched` has the folded addresses in the order of `details`. */
function hasAddressOf(type: string, email: string): SQL {
  return sql`exists (select from jsonb_array_elements(${provisionedUsers.details} -> 'emails') with ordinality as one (told, nth)
    where lower(told ->> 'type' collate "C") = ${type.toLowerCase()}
      and ${provisionedUsers.searched} -> 'emails' ->> (nth - 1)::int = ${foldName(email)})`;
}

/** Returns the condition for an id. An id that is not a UUID matches nothing; without an id there is no condition. */
export function matchId(
  table: { id: typeof provisionedUsers.id | typeof provisionedGroups.id },
  id?: string,
): SQL | undefined {
  if (id === undefined) return undefined;
  return isId(id) ? eq(table.id, id) : sql`false`;
}

/** Returns a person as callers see them, with their groups. */
export async function describeUser(
  tx: Transaction,
  row: typeof provisionedUsers.$inferSelect,
): Promise<ProvisionedUser> {
  const [user] = await withGroups(tx, [row]);
  if (!user) throw new Error('A provisioned person could not be read');
  return user;
}

async function withGroups(
  db: Database | Transaction,
  rows: (typeof provisionedUsers.$inferSelect)[],
): Promise<ProvisionedUser[]> {
  if (rows.length === 0) return [];
  const memberOf = await db
    .select({ userId: provisionedMembers.userId, id: provisionedGroups.id, displayName: provisionedGroups.displayName })
    .from(provisionedMembers)
    .innerJoin(provisionedGroups, eq(provisionedGroups.id, provisionedMembers.groupId))
    .where(
      inArray(
        provisionedMembers.userId,
        rows.map(({ id }) => id),
      ),
    )
    .orderBy(asc(provisionedGroups.displayName));
  return rows.map(({ addresses: _, userNameFolded: __, searched: ___, ...row }) => ({
    ...row,
    groups: memberOf.filter(({ userId }) => userId === row.id).map(({ id, displayName }) => ({ id, displayName })),
  }));
}
