import { createHash } from 'node:crypto';
import type { House } from '@belay/testkit/house';

/** Changes every entitlement to a row from before pins existed; with `due` it is due immediately, as the migration leaves it. */
export async function makeUnpinned(house: House, { due = true } = {}): Promise<void> {
  const { sql } = house.database;
  const rows = await sql`select id, provider, identity, access from entitlements`;
  for (const { id, provider, identity, access } of rows) {
    // The key of such a row was a digest of its names, with the keys of the access in order.
    const entries = Object.entries(access as object).sort(([a], [b]) => (a < b ? -1 : 1));
    const names = JSON.stringify([provider, identity, Object.fromEntries(entries)]);
    const key = createHash('sha256').update(names).digest('base64url');
    await sql`update entitlements set target = null, subject = null, key = ${key} where id = ${id}`;
    if (due) await sql`update entitlements set due_at = app_now() where id = ${id}`;
  }
}
