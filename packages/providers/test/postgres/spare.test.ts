import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresConnector, Retryable } from '../../src/index.js';
import { type Database, openDatabase, type Statements } from '../../src/postgres/database.js';
import { openTestServer, type TestServer } from './server.js';

const calm = () => new AbortController().signal;
const pidOf = async (sql: Statements) => (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;

describe('the connection that stands by, at a server with no free connection', () => {
  let server: TestServer;
  let database: Database;

  beforeAll(async () => {
    server = await openTestServer();
    const login = await server.login();
    await server.admin.unsafe(`alter role ${login.name} connection limit 2`);
    await server.admin.unsafe(`create table written (text text); grant all on written to ${login.name}`);
    const accept_objects_left_behind = server.version < 160_000;
    database = openDatabase(
      postgresConnector.config.parse({
        url: server.url(login),
        email_domains: ['example.test'],
        accept_objects_left_behind,
      }),
    );
    await database.standBy(calm(), pidOf);
    await server.connect(login)`select 1`;
  });
  afterAll(async () => {
    await database.close();
    await server.close();
  });

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
});
