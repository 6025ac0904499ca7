import { notFound } from '@belay/contract/errors';
import { type Database, provisionedGroups, provisionedMembers, provisionedUsers, type Transaction } from '@belay/db';
import { and, asc, count, eq, inArray, isNull, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isId } from '../find-execution.js';
import { foldName } from '../people/names.js';
import { matchId, type Page } from './read-users.js';

export interface ProvisionedGroup {
  id: string;
  displayName: string;
  externalId: string | null;
  createdAt: Date;
  updatedAt: Date;
  /** Absent when the caller did not request members. */
  members?: { id: string; userName: string }[];
}

/**
 * A group matches when it has the value of every field that is present; `displayName` is compared without case. `member` is the id
 * of a provisioned person.
 */
export interface GroupFilter {
  id?: string | undefined;
  displayName?: string | undefined;
  externalId?: string | undefined;
  member?: string | undefined;
}

/** Returns a group that a directory provisioned. Throws `not_found`. */
export async function getProvisionedGroup(
  ctx: Store,
  provider: string,
  id: string,
  members = true,
): Promise<ProvisionedGroup> {
  const { rows } = await listProvisionedGroups(ctx, provider, { id }, { offset: 0, limit: 1 }, members);
  const [group] = rows;
  if (!group) throw notFound('The group');
  return group;
}

/** Returns a page of the matching groups that a directory provisioned, oldest first, and how many match. */
export async function listProvisionedGroups(
  ctx: Store,
  provider: string,
  filter: GroupFilter,
  page: Page,
  members = true,
): Promise<{ total: number; rows: ProvisionedGroup[] }> {
  const { id, displayName, externalId, member } = filter;
  const where = and(
    eq(provisionedGroups.provider, provider),
    matchId(provisionedGroups, id),
    displayName === undefined ? undefined : eq(provisionedGroups.displayNameFolded, foldName(displayName)),
    externalId === undefined ? undefined : eq(provisionedGroups.externalId, externalId),
    member === undefined
      ? undefined
      : isId(member)
        ? sql`exists (select from ${provisionedMembers} m where m.group_id = ${provisionedGroups.id} and m.user_id = ${member})`
        : sql`false`,
  );
  const [all] = await ctx.db.select({ total: count() }).from(provisionedGroups).where(where);
  const rows = await ctx.db
    .select()
    .from(provisionedGroups)
    .where(where)
    .orderBy(asc(provisionedGroups.id))
    .limit(page.limit)
    .offset(page.offset);
  return { total: all?.total ?? 0, rows: await describeGroups(ctx.db, rows, members) };
}

/** Returns groups as callers see them, with the members when `members` is true. */
export async function describeGroups(
  db: Database | Transaction,
  rows: (typeof provisionedGroups.$inferSelect)[],
  members: boolean,
): Promise<ProvisionedGroup[]> {
  const shown = rows.map(({ provider: _, displayNameFolded: __, ...row }) => row);
  if (!members || rows.length === 0) return shown;
  const all = await db
    .select({ groupId: provisionedMembers.groupId, id: provisionedUsers.id, userName: provisionedUsers.userName })
    .from(provisionedMembers)
    .innerJoin(provisionedUsers, eq(provisionedUsers.id, provisionedMembers.userId))
    .where(
      and(
        isNull(provisionedUsers.deletedAt),
        inArray(
          provisionedMembers.groupId,
          rows.map(({ id }) => id),
        ),
      ),
    )
    .orderBy(asc(provisionedUsers.id));
  return shown.map((row) => ({
    ...row,
    members: all.filter(({ groupId }) => groupId === row.id).map(({ id, userName }) => ({ id, userName })),
  }));
}
