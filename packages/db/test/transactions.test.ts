import { commitWith, execute, inOrder, openDatabase, sqlText } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { type SQL, sql } from 'drizzle-orm';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';

let database: TestDatabase;
let proxy: FaultyProxy;
let client: ReturnType<typeof openDatabase>;
const statements: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql`create table parents (id int primary key)`;
  await database.sql`
    create table written (
      id int primary key, note text not null,
      parent int references parents (id) deferrable initially deferred
    )`;
  const target = new URL(database.url);
  proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  client = openDatabase(target.href, { max: 1, onStatement: (_, text) => void statements.push(text) });
});
afterAll(async () => {
  await client.close();
  await proxy[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Prepares the statements on the connection, and empties the table. */
beforeEach(async () => {
  await twoInserts(1, 2).catch(() => {});
  await twoInserts(1, 2).catch(() => {});
  await database.sql`delete from written`;
  statements.length = 0;
});

const insert = (id: number, note: string | null = 'x', parent: number | null = null): SQL =>
  sql`insert into written values (${id}, ${note}, ${parent}) returning id`;

function twoInserts(first: number, second: number) {
  return client.db.transaction(async (tx) => {
    await tx.execute(insert(first));
    const [row] = await commitWith(tx, [tx.execute(insert(second))]);
    return row;
  });
}

async function kept(): Promise<number[]> {
  return (await database.sql<{ id: number }[]>`select id from written order by id`).map(({ id }) => id);
}

/** Expects that the pool's only connection can be used and is in no transaction. */
async function expectClean(): Promise<void> {
  const [row] = await client.db.execute<{ fresh: boolean }>(
    sql`select pg_current_xact_id_if_assigned() is null and now() = statement_timestamp() as fresh`,
  );
  expect(row?.fresh).toBe(true);
}

it('sends BEGIN with the first statement and COMMIT with the last', async () => {
  const before = proxy.rounds();
  expect(await twoInserts(3, 4)).toMatchObject([{ id: 4 }]);
  expect(proxy.rounds() - before).toBe(2);
  expect(statements.map((text) => text.split(' ')[0])).toEqual(['begin', 'insert', 'insert', 'commit']);
  expect(await kept()).toEqual([3, 4]);
});

it('sends the statements of one call together, and nothing for a transaction without statements', async () => {
  const before = proxy.rounds();
  await client.db.transaction(async (tx) => {
    await tx.execute(insert(3));
    await inOrder([tx.execute(insert(4)), tx.execute(insert(5))]);
  });
  // The first statement, two together, and the commit.
  expect(proxy.rounds() - before).toBe(3);
  expect(await client.db.transaction(async () => 'nothing')).toBe('nothing');
  expect(proxy.rounds() - before).toBe(3);
  expect(await kept()).toEqual([3, 4, 5]);
});

it.each<[string, () => Promise<unknown>, RegExp]>([
  ['the first statement', () => twoInserts(Number.NaN, 4), /22P02/],
  [
    'the last statement',
    () =>
      client.db.transaction((tx) => commitWith(tx, [tx.execute(insert(3)), undefined, tx.execute(insert(4, null))])),
    /23502/,
  ],
  [
    'a statement before the last',
    () =>
      client.db.transaction(async (tx) => {
        await tx.execute(insert(3));
        await commitWith(tx, [tx.execute(insert(4, null)), tx.execute(insert(5))]);
      }),
    /23502/,
  ],
  [
    'a deferred constraint at COMMIT',
    () => client.db.transaction((tx) => commitWith(tx, [tx.execute(insert(3)), tx.execute(insert(4, 'x', 77))])),
    /23503/,
  ],
  [
    'a deferred constraint at COMMIT, after a transaction without commitWith',
    () => client.db.transaction((tx) => tx.execute(insert(4, 'x', 77))),
    /23503/,
  ],
  [
    'a statement whose error the work caught',
    () =>
      client.db.transaction(async (tx) => {
        await tx.execute(insert(3));
        await tx.execute(insert(3)).catch(() => {});
      }),
    /23505/,
  ],
  [
    'a statement whose error the work caught, before commitWith',
    () =>
      client.db.transaction(async (tx) => {
        await tx.execute(insert(3, null)).catch(() => {});
        await commitWith(tx, []);
      }),
    /23502/,
  ],
  [
    'the work itself',
    () =>
      client.db.transaction(async (tx) => {
        await tx.execute(insert(3));
        throw Object.assign(new Error('no'), { code: 'MINE' });
      }),
    /MINE/,
  ],
  [
    'the work itself while its first statement waits for a connection',
    () =>
      client.db.transaction(async (tx) => {
        void tx.execute(insert(3)).execute();
        throw Object.assign(new Error('no'), { code: 'MINE' });
      }),
    /MINE/,
  ],
])('rolls back and leaves the connection clean when %s fails', async (_, work, code) => {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(codesOf(error)).toMatch(code);
  expect(await kept()).toEqual([]);
  await expectClean();
});

it('runs nothing when BEGIN itself fails', async () => {
  const raw = postgres(database.url, { max: 1, onnotice: () => {} });
  const begun = raw.begin('isolation level nonsense', async (one) => {
    await Promise.all([one`insert into written values (3, 'x')`, one`insert into written values (4, 'x')`]);
  });
  await expect(begun).rejects.toMatchObject({ code: '42601' });
  expect(await raw`select id from written`).toEqual([]);
  await raw.end();
});

it('prepares a statement once for a connection, and uses it again with other parameters, in transactions and outside', async () => {
  const add = (to: Parameters<typeof execute>[0], n: number) =>
    execute<{ sum: number }>(to, sqlText`select ${n}::int + 1 as sum`);
  expect(await add(client.db, 1)).toMatchObject([{ sum: 2 }]);
  expect(await client.db.execute(sql`select ${2}::int + 1 as sum`)).toMatchObject([{ sum: 3 }]);
  expect(await client.db.transaction((tx) => add(tx, 3))).toMatchObject([{ sum: 4 }]);
  const known = await client.db.execute(sql`
    select (generic_plans + custom_plans)::int as uses from pg_prepared_statements
    where statement = 'select $1::int + 1 as sum'`);
  expect([...known]).toEqual([{ uses: 3 }]);
});

it('runs nothing outside the transaction when a prepared statement is out of date', async () => {
  const touch = (id: number) =>
    client.db.transaction((tx) =>
      commitWith(tx, [
        tx.execute(insert(id)),
        tx.execute(sql`update written set note = 'y' where id < ${100} returning *`),
      ]),
    );
  await touch(3);
  await database.sql`alter table written add column late int`;
  try {
    const error = await touch(4).catch((thrown: unknown) => thrown);
    expect(codesOf(error)).toMatch(/0A000/);
    expect(await kept()).toEqual([3]);
    await expectClean();
    // The statement is prepared again the next time.
    await touch(5);
    expect(await kept()).toEqual([3, 5]);
  } finally {
    await database.sql`alter table written drop column late`;
  }
});

it('rejects a statement that is sent after the end, and runs it nowhere', async () => {
  const work = client.db.transaction(async (tx) => {
    await commitWith(tx, [tx.execute(insert(3))]);
    await tx.execute(insert(4));
  });
  expect(codesOf(await work.catch((thrown: unknown) => thrown))).toMatch(/TRANSACTION_OVER/);
  expect(await kept()).toEqual([3]);
  await expectClean();
});

// The chunks on the wire: BEGIN and an insert; the response; an insert and COMMIT; the response.
it.each([
  ['before BEGIN arrives', 0, []],
  ['before the first answer', 1, []],
  ['before COMMIT arrives', 2, []],
  ['before the answer to COMMIT', 3, [3, 4]],
])('throws an outage when the connection is lost %s', async (_, chunks, rows) => {
  proxy.loseAfter(chunks, 'reset');
  const error = await twoInserts(3, 4).catch((thrown: unknown) => thrown);
  expect(codesOf(error)).toMatch(/CONNECTION_CLOSED|ECONNRESET|EPIPE/);
  await expect
    .poll(
      async () =>
        (
          await database.sql`select 1 from pg_stat_activity where state like '%transaction%' and pid <> pg_backend_pid() and datname = current_database()`
        ).length,
    )
    .toBe(0);
  expect(await kept()).toEqual(rows);
  await expectClean();
});

function codesOf(error: unknown): string {
  const codes: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause)
    codes.push(String('code' in one ? one.code : one.message));
  return codes.join(' ');
}
