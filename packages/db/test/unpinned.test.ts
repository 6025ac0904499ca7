import { readFileSync } from 'node:fs';
import { migrateDatabase, OutdatedDatabaseError } from '@belay/db';
import { machine } from '@belay/program';
import { createEmptyDatabase, type EmptyDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { makeMigrations } from './support/migrations.js';

const names = readFileSync(new URL('../drizzle/0003_names.sql', import.meta.url), 'utf8');

/** Returns a database of an older version, which holds access without identifiers, and access that has ended, with a request of each. */
async function openOlder(state: 'granted' | 'absent'): Promise<EmptyDatabase> {
  const database = await createEmptyDatabase();
  await using older = await makeMigrations();
  await migrateDatabase(database.url, machine, older.folder);
  const { sql } = database;
  await sql`set session_replication_role = replica`;
  await sql`insert into entitlements (id, key, provider, identity, identity_email, access, state, last_grant_call_at)
    values ('00000000-0000-7000-8000-000000000001', 'k', 'shop', 'ada', 'ada@example.com', '{"role": "write"}', ${state}, app_now())`;
  await sql`insert into grants (id, execution_id, step_key, entitlement_id, user_id, duration, expires_at)
    select gen_random_uuid(), gen_random_uuid(), '/do/0', id, gen_random_uuid(), 60000, app_now() + interval '1 minute' from entitlements`;
  return database;
}

async function migrate({ url }: EmptyDatabase): Promise<void> {
  await using newer = await makeMigrations(names);
  await migrateDatabase(url, machine, newer.folder);
}

it('rejects a database that holds access without identifiers, names the access, and leaves it as it is', async () => {
  await using database = await openOlder('granted');
  const migrated = migrate(database);
  await expect(migrated).rejects.toThrow(OutdatedDatabaseError);
  await expect(migrated).rejects.toThrow('shop: ada has {"role": "write"}');
  expect(await database.sql`select target, identity_email from entitlements`).toMatchObject([
    { target: null, identity_email: 'ada@example.com' },
  ]);
});

it('keeps what has ended, with the names that it had', async () => {
  await using database = await openOlder('absent');
  await migrate(database);
  const named = { identity: 'ada', access: { role: 'write' } };
  expect(await database.sql`select names, target from entitlements`).toEqual([{ names: [named], target: '' }]);
  expect(
    await database.sql`select identity, access, known_as, expires_at, activate_by > created_at as waits from grants`,
  ).toEqual([{ ...named, known_as: ['ada@example.com'], expires_at: null, waits: true }]);
});
