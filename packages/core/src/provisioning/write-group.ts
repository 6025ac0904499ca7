import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { provisionedGroups, provisionedMembers, provisionedUsers, type Transaction } from '@belay/db';
import { and, eq, inArray, isNull, ne, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { findDescribed } from '../people/certain.js';
import { foldName } from '../people/names.js';
import { settleProvisioned } from '../people/provisioned.js';
import { describeGroups, type ProvisionedGroup } from './read-groups.js';
import { commit } from './write-user.js';

/** A group as a directory describes it; `members` are ids of provisioned people. */
export interface ProvisionedCrowd {
  displayName: string;
  externalId: string | null;
  members: string[];
}

/**
 * Stores a group that a directory provisions. Throws `conflict` when another group of the provider has the name, and `invalid` for
 * unknown members.
 */
export function createProvisionedGroup(
  ctx: Store,
  provider: string,
  group: ProvisionedCrowd,
): Promise<ProvisionedGroup> {
  const id = ctx.newId();
  return commit(ctx, async (tx) => {
    await requireFree(tx, provider, group.displayName, null);
    const { displayName, externalId } = group;
    await tx
      .insert(provisionedGroups)
      .values({ id, provider, displayName, displayNameFolded: foldName(displayName), externalId });
    return { result: await follow(ctx, tx, { provider, id, before: null, group }), jobs: [] };
  });
}

/**
 * Changes a group that a directory provisioned: `change` returns its new state. The groups of its people change in the same
 * transaction. Throws `not_found`, `conflict`, `invalid`, and what `change` throws.
 */
export function changeProvisionedGroup(
  ctx: Store,
  provider: string,
  id: string,
  change: (current: ProvisionedCrowd) => ProvisionedCrowd,
): Promise<ProvisionedGroup> {
  return commit(ctx, async (tx) => {
    const before = await lockGroup(tx, provider, id);
    const group = change(before);
    await requireFree(tx, provider, group.displayName, id);
    const { displayName, externalId } = group;
    await tx
      .update(provisionedGroups)
      .set({ displayName, displayNameFolded: foldName(displayName), externalId, updatedAt: sql`app_now()` })
      .where(eq(provisionedGroups.id, id));
    return { result: await follow(ctx, tx, { provider, id, before, group }), jobs: [] };
  });
}

/** Deletes a group that a directory provisioned. Throws `not_found`. */
export function deleteProvisionedGroup(ctx: Store, provider: string, id: string): Promise<void> {
  return commit(ctx, async (tx) => {
    const { members, displayName } = await lockGroup(tx, provider, id);
    await tx.delete(provisionedGroups).where(eq(provisionedGroups.id, id));
    await settleMembers(ctx, tx, members);
    await record(tx, provider, id, `deleted the group ${displayName}`);
    return { result: undefined, jobs: [] };
  });
}

async function lockGroup(tx: Transaction, provider: string, id: string): Promise<ProvisionedCrowd> {
  if (!isId(id)) throw notFound('The group');
  const [row] = await tx
    .select()
    .from(provisionedGroups)
    .where(and(eq(provisionedGroups.id, id), eq(provisionedGroups.provider, provider)))
    .for('update');
  if (!row) throw notFound('The group');
  const members = await tx
    .select({ id: provisionedMembers.userId })
    .from(provisionedMembers)
    .where(eq(provisionedMembers.groupId, id));
  return { displayName: row.displayName, externalId: row.externalId, members: members.map((one) => one.id) };
}

async function requireFree(tx: Transaction, provider: string, displayName: string, id: string | null): Promise<void> {
  const [taken] = await tx
    .select({ id: provisionedGroups.id })
    .from(provisionedGroups)
    .where(
      and(
        eq(provisionedGroups.provider, provider),
        eq(provisionedGroups.displayName, displayName),
        id === null ? undefined : ne(provisionedGroups.id, id),
      ),
    );
  if (taken) throw new AccessError('conflict', 'Another group has this displayName');
}

/** Stores the members of a group, and updates the groups of the people whom the change concerns. */
async function follow(
  ctx: Store,
  tx: Transaction,
  change: { provider: string; id: string; before: ProvisionedCrowd | null; group: ProvisionedCrowd },
): Promise<ProvisionedGroup> {
  const { provider, id, before, group } = change;
  const members = new Set(group.members);
  const earlier = new Set(before?.members ?? []);
  const joined = [...members].filter((one) => !earlier.has(one));
  const left = [...earlier].filter((one) => !members.has(one));
  await requireMembers(tx, provider, joined);
  if (left.length > 0) {
    await tx
      .delete(provisionedMembers)
      .where(and(eq(provisionedMembers.groupId, id), inArray(provisionedMembers.userId, left)));
  }
  if (joined.length > 0) {
    await tx.insert(provisionedMembers).values(joined.map((userId) => ({ groupId: id, userId })));
  }
  const renamed = before?.displayName !== group.displayName || before.externalId !== group.externalId;
  await settleMembers(ctx, tx, renamed ? [...members, ...left] : [...joined, ...left]);
  const did = before === null ? 'provisioned' : 'changed';
  await record(tx, provider, id, `${did} the group ${group.displayName}`, { joined, left });
  const rows = await tx.select().from(provisionedGroups).where(eq(provisionedGroups.id, id));
  const [described] = await describeGroups(tx, rows, true);
  if (!described) throw new Error('A provisioned group could not be read');
  return described;
}

async function requireMembers(tx: Transaction, provider: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  if (!ids.every(isId)) throw invalid('members', 'contains an id that is not the id of a user on this server');
  const known = await tx
    .select({ id: provisionedUsers.id })
    .from(provisionedUsers)
    .where(
      and(
        eq(provisionedUsers.provider, provider),
        isNull(provisionedUsers.deletedAt),
        inArray(provisionedUsers.id, [...ids]),
      ),
    );
  if (known.length !== new Set(ids).size)
    throw invalid('members', 'contains an id that is not the id of a user on this server');
}

async function settleMembers(ctx: Store, tx: Transaction, members: readonly string[]): Promise<void> {
  if (members.length === 0) return;
  const rows = await tx
    .select()
    .from(provisionedUsers)
    .where(inArray(provisionedUsers.id, [...members]));
  await settleProvisioned(ctx, tx, await findDescribed(tx, rows));
}

function record(tx: Transaction, provider: string, id: string, what: string, data: object = {}) {
  return appendLedger(tx, [
    {
      type: 'group.provisioned',
      message: `"${provider}" ${what}`,
      actor: { kind: 'system', name: 'provisioning' },
      provider,
      data: { group_id: id, ...data },
    },
  ]);
}
