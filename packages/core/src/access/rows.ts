import { foldName } from '@belay/contract/address';
import { digestOf } from '@belay/contract/canonical';
import { entitlements, type Transaction } from '@belay/db';
import type { Access, Pin } from '@belay/providers';
import { asc, eq, inArray } from 'drizzle-orm';
import { authorizerOf } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import type { EntitlementFacts } from './decide.js';

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
  /** The `entitlementKey` of the pin. */
  key: string;
  /** The names by which the account belongs to a person (`namesOfAccount`). */
  knownAs: string[];
  /** Digest of the address in the configuration that the pin was read with; null when the connector returns none. */
  address: string | null;
}

/**
 * Returns the key of an entitlement: one row for one access, through whichever providers it can be reached (R8). A copy of a target
 * has the same fingerprint, so an access and its copy have one row too. Throws `Retryable` when the provider has no client.
 */
export function entitlementKey(ctx: Store, provider: string, { target, subject }: Pin): string {
  const authorizer = authorizerOf(ctx, provider, 'observe');
  const type = ctx.catalog.current().providers.get(provider)?.connector.type;
  return digestOf({ type, realm: authorizer.realm?.(target) ?? target, subject });
}

/** Returns the key of rows without a pin, which are older than pins. */
export function keyByNames({ provider, identity, access }: Pick<Wanted, 'provider' | 'identity' | 'access'>): string {
  return digestOf([provider, identity, access]);
}

/**
 * Locks the rows of entitlements that there are, and returns each with the key of its row and the facts about it. `through`: another
 * provider through which the access is held, or may be. A live row without a pin is the same entitlement under its names: it is
 * pinned here and used, so that one access does not get two live rows. The caller holds the execution's lock.
 */
export async function lockEntitlements<W extends Wanted>(
  tx: Transaction,
  wanted: readonly W[],
): Promise<(W & { facts: EntitlementFacts; through: string | null })[]> {
  const keyed = wanted.map((one) => ({ ...one, named: keyByNames(one) }));
  const found = await tx
    .select({
      id: entitlements.id,
      key: entitlements.key,
      provider: entitlements.provider,
      state: entitlements.state,
      lastGrantCallAt: entitlements.lastGrantCallAt,
      target: entitlements.target,
      subject: entitlements.subject,
    })
    .from(entitlements)
    .where(inArray(entitlements.key, [...new Set(keyed.flatMap(({ key, named }) => [key, named]))]))
    .orderBy(asc(entitlements.id))
    .for('update');
  const byKey = new Map(found.map((row) => [row.key, row]));
  const rows: (W & { facts: EntitlementFacts; through: string | null })[] = [];
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
    const lastGrantCallAt = row?.lastGrantCallAt?.getTime() ?? null;
    const state = row?.state ?? 'absent';
    const through = row && state !== 'absent' && row.provider !== one.provider ? row.provider : null;
    rows.push({ ...(one as unknown as W), key, facts: { state, lastGrantCallAt }, through });
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
