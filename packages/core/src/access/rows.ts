import { foldName } from '@belay/contract/address';
import { digestOf } from '@belay/contract/canonical';
import { entitlements, type Transaction } from '@belay/db';
import type { Access, Pin } from '@belay/providers';
import { asc, eq, inArray, sql } from 'drizzle-orm';
import type { decideIntent } from './decide.js';

/** What an intent is decided by, as it is under the entitlement's lock. */
type IntentFacts = Parameters<typeof decideIntent>[0];

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

/** Returns the key of an entitlement: one row per provider, target and subject. */
export function entitlementKey(provider: string, pin: Pin): string {
  return digestOf({ provider, target: pin.target, subject: pin.subject });
}

/** Returns the key of rows without a pin, which are older than pins. */
export function keyByNames({ provider, identity, access }: Pick<Wanted, 'provider' | 'identity' | 'access'>): string {
  return digestOf([provider, identity, access]);
}

/**
 * Locks the rows of entitlements that there are, and returns each with the key of its row and the facts about it. A live row without a
 * pin is the same entitlement under its names: it is pinned here and used, so that one access does not get two live
 * rows. The caller holds the execution's lock.
 */
export async function lockEntitlements<W extends Wanted>(
  tx: Transaction,
  wanted: readonly W[],
): Promise<(W & { key: string; facts: IntentFacts })[]> {
  const keyed = wanted.map((one) => ({ ...one, key: entitlementKey(one.provider, one.pin), named: keyByNames(one) }));
  const found = await tx
    .select({
      id: entitlements.id,
      key: entitlements.key,
      state: entitlements.state,
      gone: sql<boolean>`not exists (select from grants where grants.entitlement_id = entitlements.id and grants.gone_at is null)`,
      target: entitlements.target,
      subject: entitlements.subject,
    })
    .from(entitlements)
    .where(inArray(entitlements.key, [...new Set(keyed.flatMap(({ key, named }) => [key, named]))]))
    .orderBy(asc(entitlements.id))
    .for('update');
  const byKey = new Map(found.map((row) => [row.key, row]));
  const rows: (W & { key: string; facts: IntentFacts })[] = [];
  for (const { named, ...one } of keyed) {
    const own = byKey.get(one.key);
    const older = byKey.get(named);
    const isLive = own !== undefined && own.state !== 'absent';
    const adopted = !isLive && older && older.state !== 'absent' && isOrMayBe(older, one.pin) ? older : undefined;
    // A row that is adopted gets the key of its pin, unless another row has it.
    const key = own && adopted ? named : one.key;
    if (adopted) {
      const { target, subject } = one.pin;
      await tx.update(entitlements).set({ target, subject, key }).where(eq(entitlements.id, adopted.id));
    }
    const row = adopted ?? own;
    const facts = { state: row?.state ?? ('absent' as const), gone: row?.gone ?? false };
    rows.push({ ...(one as W & { key: string }), key, facts });
  }
  return rows;
}

/** Returns the address of an identity in the form that is compared; null when its provider knows no address. */
export function comparableEmail({ identityEmail }: Pick<Wanted, 'identityEmail'>): string | null {
  return foldName(identityEmail) || null;
}

function isOrMayBe(row: { target: string | null; subject: unknown }, pin: Pin): boolean {
  return row.target === null || digestOf([row.target, row.subject]) === digestOf([pin.target, pin.subject]);
}
