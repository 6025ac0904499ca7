import { openDatabase } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { getTableColumns, is, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as schema from '../src/schema/index.js';

/** Every jsonb column of the schema, so that a new one is tested too. */
const columns = (Object.values(schema) as unknown[])
  .filter((value): value is PgTable => is(value, PgTable))
  .flatMap((table) =>
    Object.entries(getTableColumns(table) as Record<string, PgColumn>)
      .filter(([, column]) => column.getSQLType() === 'jsonb')
      .map(([key, column]) => ({ name: `${getTableConfig(table).name}.${column.name}`, table, key, column })),
  );

/** Texts that are JSON themselves, or look like it. */
const misleading = [
  '123',
  'null',
  'true',
  '{}',
  '[]',
  '"x"',
  '"',
  '{"a":1}',
  '{',
  '12345678901234567890',
  '1e400',
  '\\u0041',
  "'",
  '',
];
const text = fc.oneof(fc.constantFrom(...misleading), fc.string({ unit: 'grapheme' }));
const stored = fc
  .oneof(text, fc.dictionary(text, text), fc.array(text), fc.jsonValue({ stringUnit: 'grapheme' }))
  .map(asStored);

/** Returns a value after a round trip through JSON, without NUL, which PostgreSQL cannot store and core rejects. */
function asStored<T>(given: T): T {
  return JSON.parse(JSON.stringify(given).replaceAll('\\u0000', '')) as T;
}

it('knows every jsonb column that the database has', async () => {
  const rows = await shared.sql<{ name: string }[]>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and data_type = 'jsonb'`;
  expect(rows.length).toBeGreaterThan(20);
  expect(columns.map(({ name }) => name).sort()).toEqual(rows.map(({ name }) => name).sort());
});

describe.each(columns)('$name', ({ table, key, column }) => {
  let database: TestDatabase;
  let client: ReturnType<typeof openDatabase>;
  const name = getTableConfig(table).name;

  beforeAll(async () => {
    database = shared;
    // A temporary table is found before the real one, and has its columns without its constraints.
    client = openDatabase(database.url, { max: 1 });
    await client.db.execute(sql.raw(`create temporary table "${name}" (like public."${name}")`));
    for (const other of Object.values(getTableColumns(table) as Record<string, PgColumn>))
      await client.db.execute(sql.raw(`alter table "${name}" alter column "${other.name}" drop not null`));
  });
  afterAll(() => client.close());

  const put = async (...given: unknown[]) => {
    // Not deleted: the next rows could take the places of deleted ones, in another order.
    await client.db.execute(sql.raw(`truncate "${name}"`));
    return client.db
      .insert(table)
      .values(given.map((one) => ({ [key]: one })) as never)
      .returning({ read: column });
  };
  const read = () => client.db.select({ read: column }).from(table);

  it('returns what was stored, through the query builder and without it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stored, { minLength: 1, maxLength: 20 }), async (given) => {
        const rows = given.map((one) => ({ read: one }));
        expect(await put(...given)).toEqual(rows);
        expect(await read()).toEqual(rows);
        expect(await client.db.select({ read: sql`${column}` }).from(table)).toEqual(rows);
        expect(await client.db.execute(sql`select ${column} as read from ${table}`)).toEqual(rows);
        await client.db.update(table).set({ [key]: { again: given } } as never);
        expect(await read()).toEqual(rows.map(() => ({ read: { again: given } })));
      }),
      { numRuns: process.env.CI ? 20 : 2, examples: [[misleading]], endOnFailure: true },
    );
  });

  it("stores null as SQL's null, and reads JSON's null as null", async () => {
    await put(null);
    expect(await client.db.execute(sql`select ${column} is null as missing from ${table}`)).toEqual([
      { missing: true },
    ]);
    expect(await read()).toEqual([{ read: null }]);
    await client.db.update(table).set({ [key]: sql`'null'::jsonb` } as never);
    expect(await read()).toEqual([{ read: null }]);
    await put({ inside: null });
    expect(await read()).toEqual([{ read: { inside: null } }]);
  });
});

let shared: TestDatabase;
beforeAll(async () => {
  shared = await createTestDatabase();
});
afterAll(() => shared[Symbol.asyncDispose]());
