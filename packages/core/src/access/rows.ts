import { digestOf } from '@belay/contract/canonical';
import { type CommittedName, entitlements, type Transaction } from '@belay/db';
import type { Access, Named, Pin } from '@belay/providers';
import { asc, type Column, inArray, type SQL, sql } from 'drizzle-orm';
import { authorizerOf } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import type { IntentFacts } from './decide.js';

/** An entitlement that is about to be intended. The pin identifies it; the names are committed with it. */
export interface Wanted {
  /** The id for a new row. */
  id: string;
  provider: string;
  identity: string;
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

/** A wanted entitlement with its row, which is locked: the facts about it, and the names that were committed with it. */
export type LockedRow<W extends Wanted> = W & {
  facts: IntentFacts;
  names: readonly Named[];
  /** Another provider through which the access is held, or may be; null when there is none. */
  through: string | null;
};

/** Locks the rows of entitlements that there are. The caller holds the execution's lock. */
export async function lockEntitlements<W extends Wanted>(
  tx: Transaction,
  wanted: readonly W[],
): Promise<LockedRow<W>[]> {
  const found = await tx
    .select({
      key: entitlements.key,
      provider: entitlements.provider,
      state: entitlements.state,
      gone: sql<boolean>`not exists (select from grants where grants.entitlement_id = entitlements.id and grants.gone_at is null)`,
      names: entitlements.names,
    })
    .from(entitlements)
    .where(inArray(entitlements.key, [...new Set(wanted.map(({ key }) => key))]))
    .orderBy(asc(entitlements.id))
    .for('update');
  const byKey = new Map(found.map((row) => [row.key, row]));
  return wanted.map((one) => {
    const row = byKey.get(one.key);
    const facts = { state: row?.state ?? ('absent' as const), gone: row?.gone ?? false };
    const through = row && facts.state !== 'absent' && row.provider !== one.provider ? row.provider : null;
    return { ...one, facts, names: namedOf(row?.names ?? []), through };
  });
}

/** Returns, as SQL, the names of a row with those of a list of one, unless the row has them already. */
export function namesWith(names: Column, one: SQL): SQL {
  return sql`case when exists (select from jsonb_array_elements(${names}) as known where known = ${one} -> 0)
    then ${names} else ${names} || ${one} end`;
}

/** Returns committed names as connectors take them: an access is plain JSON. */
function namedOf(names: readonly CommittedName[]): Named[] {
  return names as Named[];
}
