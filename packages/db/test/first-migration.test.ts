import { readFileSync } from 'node:fs';
import { migrateDatabase, OutdatedDatabaseError } from '@belay/db';
import { machine } from '@belay/program';
import { createEmptyDatabase, type EmptyDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { describeSchema } from './support/describe-schema.js';
import { first, journal, makeMigrations } from './support/migrations.js';

/** The last two of the 60 migrations that the first one replaced. */
const replaced = [
  { hash: '1f54c3438d0f25740856f1797f3654d3be56ec7cd48e7ec6d1000d35b129dfd6', created_at: '1795669641732' },
  { hash: '436298e1c4af2fb1625f5b48e92a46abe43279d127c19f7798d7ec1d7a9bb610', created_at: '1795679653183' },
];

/** Returns a database with the first migration and one row, whose table of migrations has these rows. */
async function openDatabaseAt(rows: { hash: string; created_at: string }[]): Promise<EmptyDatabase> {
  const database = await createEmptyDatabase();
  await using migrations = await makeMigrations();
  await migrateDatabase(database.url, machine, migrations.folder);
  await database.sql`insert into users (id, provider, subject, email, name, groups)
    values (gen_random_uuid(), 'corp', 's1', 'ada@example.com', 'Ada', '[]')`;
  await database.sql`delete from migrations`;
  await database.sql`insert into migrations ${database.sql(rows)}`;
  return database;
}

/** Returns the schema of a database, its people and its migrations. */
async function look({ sql }: EmptyDatabase) {
  return {
    schema: await describeSchema(sql),
    migrations: [...(await sql`select hash, created_at from migrations order by id`)],
  };
}

it('the first migration makes the schema of the 60 migrations that it replaced', async () => {
  await using database = await createEmptyDatabase();
  await using migrations = await makeMigrations();
  await migrateDatabase(database.url, machine, migrations.folder);
  const expected = readFileSync(new URL('fixtures/first-schema.txt', import.meta.url), 'utf8');
  expect((await describeSchema(database.sql)).split('\n')).toEqual(expected.split('\n'));
});

it('a database at the last of the migrations that the first one replaced gets only those after it', async () => {
  await using database = await openDatabaseAt(replaced);
  const before = await look(database);
  await using migrations = await makeMigrations();
  await migrateDatabase(database.url, machine, migrations.folder);
  expect(await look(database)).toEqual(before);
  await using later = await makeMigrations('CREATE TABLE "later" ("id" uuid);');
  await migrateDatabase(database.url, machine, later.folder);
  const after = await look(database);
  expect(after.migrations).toEqual([...replaced, ...later.rows.slice(1)]);
  expect(after.schema).toBe(before.schema.replace('table ledger\n', 'table later\n  column id uuid\ntable ledger\n'));
});

it('rejects a database at an older migration, and leaves it as it is', async () => {
  await using database = await openDatabaseAt(replaced.slice(0, 1));
  const before = await look(database);
  const migrated = migrateDatabase(database.url, machine);
  await expect(migrated).rejects.toThrow(OutdatedDatabaseError);
  await expect(migrated).rejects.toThrow(
    'The schema of the database is older than this version of Belay can upgrade; start revision e1d42f42 of Belay with it once, then this version',
  );
  expect(await look(database)).toEqual(before);
});

it('leaves a database as it is whose migrations are newer than those of this version', async () => {
  const newer = { hash: 'newer', created_at: String(first.when + 100 * 365 * 86_400_000) };
  await using database = await openDatabaseAt([...replaced, newer]);
  const before = await look(database);
  await migrateDatabase(database.url, machine);
  expect(await look(database)).toEqual(before);
});

it('each migration is newer than the one before it, because an older one would never be applied', () => {
  const times = journal.entries.map(({ when }) => when);
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
});
