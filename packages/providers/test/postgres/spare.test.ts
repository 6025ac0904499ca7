import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgresConnector, Retryable } from '../../src/index.js';
import { type Database, openDatabase, type Statements } from '../../src/postgres/database.js';
import { openTestServer, type TestServer } from './server.js';

const calm = () => new AbortController().signal;
const pidOf = async (sql: Statements) => (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;

describe('the connection that stands by, at a server with no free connection', () => {
  let server: TestServer;
  let login: Awaited<ReturnType<TestServer['login']>>;
  let database: Database;
  let holder: ReturnType<TestServer['connect']>;
  const countOpen = async () => {
    const [row] = await server.admin<[{ count: number }]>`
      select count(*)::int as count from pg_stat_activity where usename = ${login.name} and application_name = 'belay'`;
    return row.count;
  };

  beforeEach(async () => {
    login = await server.login();
    await server.admin.unsafe(`alter role ${login.name} connection limit 2`);
    await server.admin.unsafe(`grant all on written to ${login.name}`);
    const accept_objects_left_behind = server.version < 160_000;
    database = openDatabase(
      postgresConnector.config.parse({
        url: server.url(login),
        email_domains: ['example.test'],
        accept_objects_left_behind,
      }),
    );
    await database.standBy(calm(), pidOf);
    holder = server.connect(login);
    await holder`select 1`;
  });
  afterEach(() => database.close());
  beforeAll(async () => {
    server = await openTestServer();
    await server.admin`create table written (text text)`;
  });
  afterAll(() => server.close());

  it('runs no call that was aborted while it waited, and stays open for the others', async () => {
    const before = await database.read(calm(), pidOf);
    const aborted = new AbortController();
    let ran = false;
    let waiting: Promise<unknown> = Promise.resolve();
    const slow = database.transaction(calm(), async (sql) => {
      const pid = await pidOf(sql);
      waiting = database.transaction(aborted.signal, async (one) => {
        await pidOf(one);
        ran = true;
      });
      waiting.catch(() => {});
      setTimeout(() => aborted.abort(), 300);
      await sql`select pg_sleep(0.6)`;
      return pid;
    });
    expect(await slow).toBe(before);
    await expect(waiting).rejects.toBeInstanceOf(Retryable);
    expect(await database.read(calm(), pidOf)).toBe(before);
    expect(ran).toBe(false);
  });

  it('commits nothing of a call that is aborted while it runs, and is opened again for the next', async () => {
    const before = await database.read(calm(), pidOf);
    const aborted = new AbortController();
    const running = database.transaction(aborted.signal, async (sql) => {
      await sql`insert into public.written values ('by the aborted call')`;
      setTimeout(() => aborted.abort(), 50);
      await sql`select pg_sleep(0.3)`;
      await sql`insert into public.written values ('after the abort')`;
    });
    await expect(running).rejects.toBeInstanceOf(Retryable);
    await expect
      .poll(() =>
        database.standBy(calm(), pidOf).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await database.read(calm(), pidOf)).not.toBe(before);
    expect(await server.admin`select text from written`).toEqual([]);
  });

  it('stays open when the statements that take its locks fail, because the holder could take its place', async () => {
    const before = await database.read(calm(), pidOf);
    await expect(database.standBy(calm(), (sql) => sql`select 1 / 0`)).rejects.toThrow('rejected the statement');
    await expect(server.connect(login)`select 1`).rejects.toThrow('too many connections');
    expect(await database.read(calm(), pidOf)).toBe(before);
  });

  it('does not nest its transaction deeper with each check, which would use up the locks of the server', async () => {
    const before = await database.read(calm(), pidOf);
    await database.standBy(calm(), (sql) => sql`select 1 / 0`).catch(() => {});
    for (let check = 0; check < 20; check += 1) await database.standBy(calm(), pidOf);
    for (let read = 0; read < 20; read += 1) await database.read(calm(), pidOf);
    const transactions = await database.transaction(calm(), async (sql) => {
      await sql`insert into public.written values ('after many checks')`;
      return await sql`select 1 from pg_locks where pid = pg_backend_pid() and locktype = 'transactionid'`;
    });
    expect(transactions.length).toBeLessThanOrEqual(3);
    expect(await database.read(calm(), pidOf)).toBe(before);
    await server.admin`delete from written`;
  });

  it('is not opened again by a call that waited while it was closed', async () => {
    let late: Promise<unknown> = Promise.resolve();
    let closing: Promise<unknown> = Promise.resolve();
    await database.transaction(calm(), async (sql) => {
      await pidOf(sql);
      closing = database.standDown();
      late = database.read(calm(), pidOf);
      late.catch(() => {});
      await sql`select pg_sleep(0.5)`;
      await holder.end();
    });
    await closing;
    await expect(late).rejects.toBeInstanceOf(Retryable);
    await expect.poll(countOpen).toBe(0);
    await database.standBy(calm(), pidOf);
    expect(await countOpen()).toBe(1);
  });

  it('leaves no connection behind when it is lost and the call that opens it again is aborted', async () => {
    for (let round = 0; round < 20; round += 1) {
      await expect.poll(() => database.standBy(calm(), pidOf).then(() => 'open', String)).toBe('open');
      await server.admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where usename = ${login.name} and application_name = 'belay'`;
      await server.admin`select 1`;
      const aborted = new AbortController();
      setTimeout(() => aborted.abort(), round % 4);
      await database.standBy(aborted.signal, pidOf).catch(() => {});
    }
    await database.standDown();
    await expect.poll(countOpen).toBe(0);
  });

  it('is not opened any more after the database was closed', async () => {
    const closing = database.close();
    const late = database.standBy(calm(), pidOf);
    late.catch(() => {});
    await closing;
    await expect(late).rejects.toBeInstanceOf(Retryable);
    await expect(database.standBy(calm(), pidOf)).rejects.toBeInstanceOf(Retryable);
    await expect.poll(countOpen).toBe(0);
  });
});
