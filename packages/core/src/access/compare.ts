import { type EntitlementState, entitlements, grants, sqlText } from '@belay/db';
import type { Access, Authorizer, ListedEntitlement, Named, Pin } from '@belay/providers';
import { authorizerOf } from '../catalog/authorizer.js';
import type { Store } from '../context.js';
import { type Held, settles } from './decide.js';
import { watch } from './history/watch.js';
import { entitlementKey } from './rows.js';
import { isLive } from './wanted.js';

/**
 * A difference between a provider and its rows. `leftover`: the provider holds access that no live grant wants.
 * `unknown`: it lists access that has no row. `missing`: it does not hold access that a live grant wants. `unread`: it
 * cannot report whether it holds the access.
 */
export interface Difference {
  kind: 'leftover' | 'unknown' | 'missing' | 'unread';
  /** The id and the state of the row; null when there is no row. */
  entitlementId: string | null;
  state: EntitlementState | null;
  identity: string;
  access: Access;
  pin: Pin;
  /** The mark of the access in the list of the provider: the id of an entitlement; null without a mark. */
  mark: string | null;
}

interface Comparison {
  /** Whether the connector can list; if not, access without a row cannot be found. */
  listed: boolean;
  /** How many entitlements were compared. */
  compared: number;
  differences: Difference[];
}

type Row = { id: string; names: string; target: string; subject: string } & {
  key: string;
  provider: string;
  state: EntitlementState;
  wanted: boolean;
};

/** How many entitlements are read from the provider at the same time. */
const together = 4;

/**
 * Compares what a provider holds with its rows, and changes neither. Listed access (`list` of the port) is matched to its
 * row by the pin. When the connector cannot list, every row is read with `holds`; otherwise absent rows that are not listed
 * and wanted rows that are listed need no read. Access that is being granted or revoked is compared in its present state:
 * compare again before acting on it. Throws the errors of the connector, so a provider that does not respond has no result.
 */
export async function compareProvider(ctx: Store, provider: string, signal: AbortSignal): Promise<Comparison> {
  const { authorizer } = watch(ctx, provider, authorizerOf(ctx, provider, 'observe'));
  const listed = await readList(ctx, authorizer, provider, signal);
  // Read after the list: access that was granted meanwhile has a row before the provider holds it (R1).
  const rows = await readRows(ctx, provider, [...(listed?.keys() ?? [])]);
  const differences: Difference[] = [];
  let compared = 0;
  const queue = rows.values();
  const follow = async () => {
    for (const found of queue) {
      const entry = listed?.get(found.key);
      listed?.delete(found.key);
      const isOther = found.provider !== provider;
      // Listed here too, and compared with the provider of its row.
      if (isOther && found.state !== 'absent') continue;
      const row = isOther && entry ? { ...found, ...namedBy(entry) } : found;
      // Neither the row nor the list says that the access is held.
      if (listed && !entry && row.state === 'absent') continue;
      compared += 1;
      // Access that is listed and not wanted is read again: its revocation may have ended since the list was read.
      const held = entry && row.wanted ? true : await readOne(authorizer, row, signal);
      const kind = judge(held, row, authorizer.knows);
      if (kind) differences.push({ kind, ...describe(row), mark: entry?.id || null });
    }
  };
  await Promise.all(Array.from({ length: together }, follow));
  for (const { id, identity, access, pin } of listed?.values() ?? []) {
    compared += 1;
    const row = { entitlementId: null, state: null, identity, access, pin };
    differences.push({ kind: 'unknown', ...row, mark: id || null });
  }
  return { listed: listed !== null, compared, differences };
}

function judge(held: Held | 'changing', row: Row, knows: boolean): Difference['kind'] | null {
  if (!settles(held, knows)) return 'unread';
  if (held === 'unknown') return null;
  if (held === row.wanted) return null;
  return held ? 'leftover' : 'missing';
}

/** Returns what the provider lists, by the key of its row; null when the connector cannot list. */
async function readList(
  ctx: Store,
  authorizer: Authorizer,
  provider: string,
  signal: AbortSignal,
): Promise<Map<string, ListedEntitlement> | null> {
  if (!authorizer.list) return null;
  const found = new Map<string, ListedEntitlement>();
  for await (const one of authorizer.list(signal)) found.set(entitlementKey(ctx, provider, one.pin), one);
  return found;
}

/**
 * Returns the rows of a provider, and those of other providers for access that it lists, because their targets are one. Leaves out rows
 * that have ended in an older version without identifiers: the migration gave them a target that no provider has.
 */
function readRows(ctx: Store, provider: string, listed: readonly string[]): Promise<Row[]> {
  const keys = sqlText`select jsonb_array_elements_text(${JSON.stringify(listed)}::text::jsonb)`;
  return ctx.db.execute<Row>(sqlText`
    select id, key, provider, names::text as names, target, subject::text as subject, state,
      exists (select from ${grants} where ${grants.entitlementId} = ${entitlements.id} and ${isLive}) as wanted
    from ${entitlements} where (${entitlements.provider} = ${provider} or ${entitlements.key} in (${keys})) and target <> '' order by id`);
}

async function readOne(authorizer: Authorizer, row: Row, signal: AbortSignal): Promise<Held | 'changing'> {
  return authorizer.holds({ id: row.id, pin: pinOf(row), names: namesOf(row) }, signal);
}

/** Returns what a list says of an access, in place of what the row of another provider has: the target is that of the list. */
const namedBy = ({ identity, access, pin }: ListedEntitlement) => ({
  target: pin.target,
  names: JSON.stringify([{ identity, access }]),
});

const pinOf = ({ target, subject }: Row): Pin => ({ target, subject: JSON.parse(subject) });
const namesOf = ({ names }: Row) => JSON.parse(names) as Named[];

/** Returns a row as a part of a difference, by the names that were committed with it last. */
function describe(row: Row) {
  const { identity, access } = namesOf(row).at(-1) ?? { identity: '', access: {} };
  return { entitlementId: row.id, state: row.state, identity, access, pin: pinOf(row) };
}
