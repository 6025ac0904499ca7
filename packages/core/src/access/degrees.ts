import { entitlements, type Transaction } from '@belay/db';
import type { Access, Named } from '@belay/providers';
import { authorizerOf } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import type { LockedRow, Wanted } from './rows.js';

/**
 * Slots: where a target holds one of several degrees of access in one place, such as a person's direct permission in a repository, the
 * pin is the place, and the degree belongs to the grant. One rule, here and nowhere else: while a slot is not verified as empty, a grant
 * of another degree is not committed (R8). So the calls for one entitlement never differ in what they make.
 */

/** Returns the degree of an access in its slot; undefined for an access that is all that its pin can hold. */
export function degreeOf(ctx: Store, { provider, access }: { provider: string; access: Access }): string | undefined {
  return authorizerOf(ctx, provider, 'observe').degreeOf?.(access);
}

/**
 * Makes the rows of slots that have none, absent, so that the intents for a slot take turns by the lock of its row: another process that
 * makes the same row waits until this transaction ends. Called before the rows are locked.
 */
export async function makeSlots(ctx: Store, tx: Transaction, planned: readonly Wanted[]): Promise<void> {
  const slots = planned
    .filter((one) => degreeOf(ctx, one) !== undefined)
    .map(({ id, key, provider, identity, access, pin, address }) => ({
      ...{ id, key, provider, identity, access, address, ...pin, names: [{ identity, access }] },
      state: 'absent' as const,
    }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  for (const slot of slots)
    await tx.insert(entitlements).values(slot).onConflictDoNothing({ target: entitlements.key });
}

/** A grant that its slot has no room for, and what is there. */
export interface OtherDegree {
  provider: string;
  held: Named;
}

/** Returns the first grant whose slot is held, or owed, in another degree, also by another grant of the same request. */
export function findOtherDegree(ctx: Store, rows: readonly LockedRow<Wanted>[]): OtherDegree | undefined {
  const before = new Map<string, readonly Named[]>();
  for (const { provider, identity, access, key, facts, names } of rows) {
    const degree = degreeOf(ctx, { provider, access });
    if (degree === undefined) continue;
    const others = before.get(key) ?? (facts.state === 'absent' ? [] : names);
    const held = others.find((one) => degreeOf(ctx, { provider, access: one.access }) !== degree);
    if (held) return { provider, held };
    before.set(key, [...others, { identity, access }]);
  }
  return undefined;
}
