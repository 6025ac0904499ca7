import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as schema from '../src/schema/index.js';
import { insert, rows } from './support/rows.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  for (const { table, values } of rows) await database.sql.unsafe(insert(table, values));
});
afterAll(() => database[Symbol.asyncDispose]());

/**
 * The columns that may not be null in the tables of the schema, which has no tables of migrations and of the test
 * clock.
 */
const required = `
  select relname::text as table, attname::text as column from pg_attribute join pg_class on pg_class.oid = attrelid
  where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname not in ('migrations', 'test_clock')
    and attnum > 0 and not attisdropped and attnotnull`;

it('allows null in the columns in which the schema of the code does, and in no other', async () => {
  const found = await database.sql.unsafe(required);
  const columns = (Object.values(schema) as unknown[])
    .filter((value): value is PgTable => is(value, PgTable))
    .flatMap((table) =>
      (Object.values(getTableColumns(table)) as PgColumn[])
        .filter(({ notNull }) => notNull)
        .map(({ name }) => `${getTableConfig(table).name}.${name}`),
    );
  expect(found.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(columns.sort());
});

it('rejects null in each column that may not be null', async () => {
  // Each column is tried on an existing row: without a row, nothing would be rejected.
  await database.sql.unsafe(`
    create function put_null(of text, at text) returns text language plpgsql as $$
    declare rejected text;
    begin
      execute format('update %I set %I = null', of, at);
      raise exception 'accepted, or no row of this table is known to packages/db/test/support/rows.ts';
    exception
      when not_null_violation then
        get stacked diagnostics rejected = column_name;
        return rejected;
      when others then return sqlerrm;
    end $$`);
  const tried = await database.sql.unsafe(`select *, put_null("table", "column") as rejected from (${required}) one`);
  expect(tried.length).toBeGreaterThan(200);
  expect(tried.filter(({ column, rejected }) => column !== rejected)).toEqual([]);
});
