import { execute, sqlText, type Transaction } from '@belay/db';
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
 * Serialises the intents for slots until the transaction ends: those of a slot that has no row yet have no row to lock. Taken before the
 * locks of rows, in the order of the keys.
 */
export async function lockSlots(ctx: Store, tx: Transaction, planned: readonly Wanted[]): Promise<void> {
  const keys = planned.filter((one) => degreeOf(ctx, one) !== undefined).map(({ key }) => key);
  for (const key of [...new Set(keys)].sort())
    await execute(tx, sqlText`select pg_advisory_xact_lock(hashtextextended(${key}::text, 0))`);
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
