import {
  accountAttachments,
  type Database,
  type ProvisionedDetails,
  provisionedGroups,
  provisionedMembers,
  provisionedUsers,
  type Transaction,
  userIdentities,
} from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { namesOfGroups, passingGroups, unmetCondition } from './admission.js';
import { listOf } from './certain.js';
import { foldAddress } from './names.js';
import { namingOf } from './provisioned.js';

/** A person whom a directory has provisioned and who has not signed in at its provider yet. */
export interface Unseen {
  id: string;
  name: string;
  /** As the directory gives it: their primary address. */
  email: string;
  /** All their addresses, folded. */
  addresses: string[];
  /** The accepted groups, by the configuration in force. */
  groups: string[];
}

interface Row extends Record<string, unknown> {
  id: string;
  provider: string;
  userName: string;
  details: ProvisionedDetails;
  addresses: string[];
  groups: { name: string; other: string | null }[];
}

/**
 * Returns the people whom an audience names and whom only their directory knows yet, `most` at most. They can be shown and told: they
 * count for nothing else before they have signed in.
 */
export async function listUnseen(
  ctx: Store,
  db: Database | Transaction,
  { users, groups }: { users: readonly string[]; groups: readonly string[] },
  most = 2_000,
): Promise<Unseen[]> {
  const catalog = ctx.catalog.current();
  const named = listOf(users.flatMap((user) => foldAddress(user) ?? []));
  const wanted = listOf(namesOfGroups(catalog, groups));
  const rows = await db.execute<Row>(sql`
    select p.id, p.provider, p.user_name as "userName", p.details, p.addresses, coalesce(
      (select jsonb_agg(jsonb_build_object('name', g.display_name, 'other', g.external_id)) from ${provisionedMembers} m
        join ${provisionedGroups} g on g.id = m.group_id where m.user_id = p.id), '[]') as groups
    from ${provisionedUsers} p
    where p.active and p.deleted_at is null and not exists (select from ${accountAttachments} c
        join ${userIdentities} i on i.user_id = c.user_id and i.provider = p.provider where c.account_id = p.id and c.until is null)
      and (jsonb_exists_any(p.addresses, ${named}) or exists (select from ${provisionedMembers} m
        join ${provisionedGroups} g on g.id = m.group_id
        where m.user_id = p.id and (g.display_name = any(${wanted}) or g.external_id = any(${wanted}))))
    order by p.id limit ${most}`);
  return [...rows].flatMap((row) => {
    const { id, provider, details, addresses } = row;
    const email = emailOf(row);
    if (email === undefined || !catalog.authenticators.includes(provider)) return [];
    const naming = namingOf(catalog, provider);
    const told = row.groups.flatMap(({ name, other }) => (naming === 'external_id' ? (other ?? []) : name));
    const known = { provider, email, groups: naming === undefined ? [] : told };
    if (unmetCondition(catalog, known) !== undefined) return [];
    const name = details.displayName ?? details.name?.formatted ?? row.userName;
    return [{ id, name, email, addresses, groups: passingGroups(catalog, known) }];
  });
}

function emailOf({ userName, details: { emails = [] } }: Row): string | undefined {
  const primary = [...emails].sort((a, b) => Number(b.primary ?? false) - Number(a.primary ?? false));
  return [...primary.map(({ value }) => value), userName].find((text) => foldAddress(text) !== undefined);
}
