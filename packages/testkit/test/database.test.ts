import { openDatabase } from '@belay/db';
import { describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../src/database.js';

/** Lets one test use a database as `use` does, and returns whether the next test gets the same one, and what is in it. */
async function next(use: (database: TestDatabase) => Promise<unknown>) {
  const first = await createTestDatabase();
  await use(first);
  await first[Symbol.asyncDispose]();
  await using second = await createTestDatabase();
  const [row] = await second.sql`
    select (select count(*)::int from starred_roles) as rows, (select count(*)::int from reachable) as kept,
      (select is_called from ledger_seq_seq) as counted, abs(extract(epoch from app_now() - now())) < 1 as on_time`;
  return { same: second.url === first.url, ...row };
}

const asMade = { rows: 0, kept: 1, counted: false, on_time: true };

describe('the database of a test', () => {
  it('is the one of the test before it, without its rows, its numbers and its clock', async () => {
    const found = await next(async ({ db, sql, setTime }) => {
      await setTime('2020-01-01T00:00:00.000Z');
      await sql`select nextval('ledger_seq_seq')`;
      await sql`delete from reachable`;
      // In one message, because a second one may go to the other connection.
      await sql.unsafe(`set session_replication_role = replica;
        insert into starred_roles select gen_random_uuid(), 'role ' || n, now() from generate_series(1, 9000) n`);
      await db.execute('select 1');
    });
    expect(found).toEqual({ same: true, ...asMade });
  });

  it('has the settings of a new connection', async () => {
    const read = async ({ sql }: TestDatabase) =>
      Promise.all([
        sql`select pg_sleep(0.1), current_setting('lock_timeout') as set`,
        sql`select current_setting('lock_timeout') as set`,
      ]);
    const first = await createTestDatabase();
    await Promise.all([1, 2].map(() => first.sql.unsafe(`set lock_timeout = '3s'; select pg_sleep(0.1)`)));
    expect(await read(first)).toMatchObject([[{ set: '3s' }], [{ set: '3s' }]]);
    await first[Symbol.asyncDispose]();
    await using second = await createTestDatabase();
    expect(second.url).toBe(first.url);
    expect(await read(second)).toMatchObject([[{ set: '0' }], [{ set: '0' }]]);
  });

  it.each<[string, (database: TestDatabase) => Promise<unknown>]>([
    ['whose definitions it changed', ({ sql }) => sql`alter table agents add more text`],
    ['whose functions it changed', ({ sql }) => sql`create function two() returns int language sql as 'select 2'`],
    [
      'whose rights it changed',
      ({ sql }) =>
        sql.unsafe(`do $$ begin execute format('revoke temp on database %I from public', current_database()); end $$`),
    ],
    ['whose statistics it made', ({ sql }) => sql.unsafe('insert into test_clock values (now()); analyze test_clock')],
    ['whose client it closed', (database) => database.close()],
    ['whose lock it keeps', ({ sql }) => sql`select pg_advisory_lock(1)`],
    [
      'in whose transaction it stopped',
      async ({ sql }) => {
        await new Promise<void>((begun) =>
          sql.begin((tx) => tx`select 1`.then(() => new Promise(() => begun()))).catch(() => {}),
        );
      },
    ],
    ['which kept a connection for itself', ({ sql }) => sql.reserve()],
  ])('is another one after a test %s', async (_, use) => {
    expect(await next(use)).toEqual({ same: false, ...asMade });
  });

  it('is another one while a client is connected to the first', async () => {
    let client: ReturnType<typeof openDatabase> | undefined;
    const found = await next(async ({ url }) => {
      client = openDatabase(url);
      await client.db.execute('select 1');
    });
    await client?.close(0);
    expect(found).toEqual({ same: false, ...asMade });
  });

  it('takes nothing from a test that is over', async () => {
    const first = await createTestDatabase();
    const { db, sql } = first;
    await first[Symbol.asyncDispose]();
    expect(() => db.execute('select 1')).toThrow('CONNECTION_ENDED');
    expect(() => sql`select 1`).toThrow('CONNECTION_ENDED');
  });

  it('is used by no other test when it is to be fresh', async () => {
    await using first = await createTestDatabase();
    await using fresh = await createTestDatabase({ fresh: true });
    expect(fresh.url).not.toBe(first.url);
  });
});
