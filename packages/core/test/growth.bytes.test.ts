import { getExecution, returnAccess } from '@belay/core';
import { expect, it } from 'vitest';
import { ask, type Cast, openCast } from './support/stories.js';

const copies = 500;
const people = 48;

/** Returns an expression for an id that increases with `n`, as ids of real rows do. */
const idOf = (kind: string) =>
  `(lpad(to_hex(1700000000000 + n), 12, '0') || '70008' || substr(md5('${kind}' || n), 1, 15))::uuid`;

const person = `md5('person' || n % ${people})::uuid`;

/** The expressions for columns in which a copy differs from the original row. */
const changes: Readonly<Record<string, string>> = {
  execution_id: idOf('execution'),
  user_id: person,
  owner_id: person,
  // The person acted for themselves.
  actor: `case when one.actor ? 'id' then jsonb_set(one.actor, '{id}', to_jsonb(${person})) else one.actor end`,
  // The numbers of each copy follow those of the copy before.
  seq: 'one.seq + n * 1000',
  at: `one.at - (${copies} - n) * interval '1 second'`,
  created_at: `one.created_at - (${copies} - n) * interval '1 second'`,
};

type Sql = Pick<Cast['house']['database']['sql'], 'unsafe'>;

/** Writes copies of all rows of an execution, in the order in which consecutive elevations would have written them. */
async function copy(sql: Sql, id: string): Promise<void> {
  const columns = await sql.unsafe(`
    select table_name as name, array_to_json(array_agg(column_name::text)) as columns from information_schema.columns
    where table_schema = 'public' group by table_name
    having table_name = 'executions' or bool_or(column_name = 'execution_id') order by table_name`);
  for (const { name, columns: all } of columns) {
    const own = name === 'executions' ? { ...changes, id: idOf('execution') } : { ...changes, id: idOf(name) };
    const changed = Object.entries(own).filter(([column]) => all.includes(column));
    await sql.unsafe(`
      insert into ${name} select (jsonb_populate_record(null::${name}, to_jsonb(one) ||
        jsonb_build_object(${changed.map(([column, value]) => `'${column}', case when one.${column} is not null then ${value} end`)}))).*
      from generate_series(1, ${copies}) n, ${name} one
      where one.${name === 'executions' ? 'id' : 'execution_id'} = '${id}' order by n`);
  }
}

/** Returns the bytes of all tables and indexes, after the space of deleted rows has been freed. */
async function bytes(sql: Sql): Promise<number> {
  await sql.unsafe('vacuum full');
  const [row] = await sql.unsafe(`
    select sum(pg_total_relation_size(oid))::int as bytes from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace`);
  return row?.bytes as number;
}

it('an elevation leaves less than 4,000 bytes in all tables and indexes', async () => {
  await using cast = await openCast({ fresh: true });
  const { house, ada } = cast;
  const id = await ask(house, ada, { workflow: 'automatic' });
  await returnAccess(ada, { execution_id: id });
  await house.work();
  expect(await getExecution(ada, { id })).toMatchObject({
    status: 'completed',
    grants: [{ ended_reason: 'returned' }],
  });
  const sql = await house.database.sql.reserve();
  await sql.unsafe('set session_replication_role = replica');
  const before = await bytes(sql);
  await copy(sql, id);
  const [row] = await sql.unsafe('select count(*)::int as entries from ledger');
  const each = ((await bytes(sql)) - before) / copies;
  sql.release();
  expect(row?.entries).toBeGreaterThan(7 * copies);
  expect(each).toBeLessThan(4_000);
});
