import { foldName } from '@belay/contract/address';
import { digestOf } from '@belay/contract/canonical';
import { type EntitlementState, entitlements, type Transaction } from '@belay/db';
import type { Access, Pin } from '@belay/providers';
import { asc, eq, inArray } from 'drizzle-orm';

/** An entitlement that is about to be intended; names are labels, the pin identifies it. */
export interface Wanted {
  /** The id for a new row. */
  id: string;
  provider: string;
  identity: string;
  /** Empty when the provider knows no address. */
  identityEmail: string;
  access: Access;
  pin: Pin;
  /** The names by which the account belongs to a person (`namesOfAccount`). */
  knownAs: string[];
  /** Digest of the address in the configuration that the pin was read with; null when the connector returns none. */
  address: string | null;
}

/** An entitlement's row under its lock. */
export interface LockedRow {
  id: string;
  key: string;
  state: EntitlementState;
  lastGrantCallAt: Date | null;
}

/** Returns the key of an entitlement: one row per provider, target and subject. */
export function entitlementKey(provider: string, pin: Pin): string {
  return digestOf({ provider, target: pin.target, subject: pin.subject });
}

/** Returns the key of rows without a pin, which are older than pins. */
export function keyByNames({ provider, identity, access }: Pick<Wanted, 'provider' | 'identity' | 'access'>): string {
  return digestOf([provider, identity, access]);
}

/**
 * Locks the rows of entitlements, and creates missing ones; the result has the order of `wanted`. A live row without a
 * pin is the same entitlement under its names: it is pinned here and used, so that one access does not get two live
 * rows. The caller holds the execution's lock.
 */
export async function lockEntitlements(tx: Transaction, wanted: readonly Wanted[]): Promise<LockedRow[]> {
  const keyed = wanted.map((one) => ({ ...one, key: entitlementKey(one.provider, one.pin), named: keyByNames(one) }));
  const found = await lockByKey(
    tx,
    keyed.flatMap(({ key, named }) => [key, named]),
  );
  const byKey = new Map(found.map((row) => [row.key, row]));
  const rows = new Map<string, LockedRow>();
  for (const one of keyed) {
    const own = byKey.get(one.key);
    const older = byKey.get(one.named);
    const adopted = older && older.state !== 'absent' && isOrMayBe(older, one.pin) ? older : undefined;
    const row = own && own.state !== 'absent' ? own : (adopted ?? own);
    if (!row) continue;
    rows.set(one.key, row);
    const { identity, access, address } = one;
    const identityEmail = comparableEmail(one);
    const labels =
      digestOf([row.identity, row.identityEmail, row.access, row.address]) ===
      digestOf([identity, identityEmail, access, address]);
    if (row.target !== null && labels) continue;
    await tx
      .update(entitlements)
      .set({ identity, identityEmail, access, address, ...pinOf(one.pin), ...(own ? {} : { key: one.key }) })
      .where(eq(entitlements.id, row.id));
  }
  const missing = keyed.filter(({ key }) => !rows.has(key)).sort((a, b) => (a.key < b.key ? -1 : 1));
  if (missing.length > 0) {
    // When nothing is granted in the end, the new row stays absent.
    await tx
      .insert(entitlements)
      .values(
        missing.map((one) => ({
          id: one.id,
          key: one.key,
          provider: one.provider,
          identity: one.identity,
          identityEmail: comparableEmail(one),
          access: one.access,
          address: one.address,
          ...pinOf(one.pin),
          state: 'absent' as const,
        })),
      )
      .onConflictDoNothing();
    const made = await lockByKey(
      tx,
      missing.map(({ key }) => key),
    );
    for (const row of made) rows.set(row.key, row);
  }
  return keyed.map(({ key, named }) => {
    const row = rows.get(key);
    if (!row) throw new Error('An entitlement vanished under its lock');
    // A row that was adopted has the key of its pin now, unless another row has it.
    return row.key === named && !byKey.has(key) ? { ...row, key } : row;
  });
}

/** Returns the address of an identity in the form that is compared; null when its provider knows no address. */
export function comparableEmail({ identityEmail }: Pick<Wanted, 'identityEmail'>): string | null {
  return foldName(identityEmail) || null;
}

function pinOf({ target, subject }: Pin) {
  return { target, subject };
}

function isOrMayBe(row: { target: string | null; subject: unknown }, pin: Pin): boolean {
  return row.target === null || digestOf([row.target, row.subject]) === digestOf([pin.target, pin.subject]);
}

function lockByKey(tx: Transaction, keys: readonly string[]) {
  return tx
    .select({
      id: entitlements.id,
      key: entitlements.key,
      identity: entitlements.identity,
      identityEmail: entitlements.identityEmail,
      access: entitlements.access,
      address: entitlements.address,
      state: entitlements.state,
      lastGrantCallAt: entitlements.lastGrantCallAt,
      target: entitlements.target,
      subject: entitlements.subject,
    })
    .from(entitlements)
    .where(inArray(entitlements.key, [...new Set(keys)]))
    .orderBy(asc(entitlements.id))
    .for('update');
}
