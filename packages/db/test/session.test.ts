import { createClient, type DatabaseClient, listenTo, openDatabase, takeTurn } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { makeHostile } from '@belay/testkit/hostile-settings';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { users } from '../src/schema/people.js';

let database: TestDatabase;
let name: string;
const open: DatabaseClient[] = [];

beforeEach(async () => {
  database = await createTestDatabase({ fresh: true });
  name = new URL(database.url).pathname.slice(1);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ close }) => close(0)));
  await database[Symbol.asyncDispose]();
});

async function set(...settings: string[]): Promise<void> {
  for (const setting of settings) await database.sql.unsafe(`alter database ${name} set ${setting}`);
}

function connect(url = database.url, statementMilliseconds?: number): DatabaseClient {
  const client = openDatabase(url, {
    max: 2,
    ...(statementMilliseconds === undefined ? {} : { statementMilliseconds }),
  });
  open.push(client);
  return client;
}

const read = (client: DatabaseClient, setting: string) =>
  client.db.execute<{ value: string }>(sql`select current_setting(${setting}) as value`).then(([row]) => row?.value);

async function outcomeOf(work: PromiseLike<unknown>): Promise<{ codes: string[]; messages: string }> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const codes: string[] = [];
  const messages: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    if ('code' in one) codes.push(String(one.code));
    messages.push(one.message);
  }
  return { codes, messages: messages.join('\n') };
}

describe('a database whose defaults are all hostile', () => {
  beforeEach(async () => {
    const [row] = await database.sql`select current_setting('server_version_num')::int as version`;
    for (const statement of makeHostile(`database ${name}`, row?.version)) await database.sql.unsafe(statement);
  });

  it('stores and reads times, texts and bytes as they are', async () => {
    const { db } = connect();
    const at = new Date('2026-03-04T05:06:07.008Z');
    const id = '00000000-0000-4000-8000-000000000001';
    const row = { id, provider: 'p', subject: 'a\\b', email: 'ü@example.com', name: 'Ü', groups: [], createdAt: at };
    await db.insert(users).values(row);
    expect(await db.select().from(users)).toMatchObject([row]);
    const [values] = await db.execute(sql`
      select '\\x6162'::bytea as bytes, 0.1::float8 + 0.2::float8 as sum, interval '1 day 2 hours' as wait, 'a\\b' as text,
        (1 = null) is null as unknown`);
    expect(values).toEqual({
      bytes: Buffer.from('ab'),
      sum: 0.30000000000000004,
      wait: '1 day 02:00:00',
      text: 'a\\b',
      unknown: true,
    });
  });

  it('ends no connection that waits, in a transaction or without one', async () => {
    const { db } = connect();
    const pid = async () => (await db.execute(sql`select pg_backend_pid() as pid`))[0]?.pid;
    const first = await pid();
    await db.execute(sql`select pg_sleep(0.9)`);
    await expect.poll(pid, { timeout: 3_000 }).toBe(first);
    const slept = await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_sleep(0.9)`);
      return tx.execute(sql`select 1 as one`);
    });
    expect(slept).toEqual([{ one: 1 }]);
  });

  it('commits rows to the disk, with the isolation that Belay was written for', async () => {
    const client = connect();
    expect(await read(client, 'synchronous_commit')).toBe('on');
    expect(await read(client, 'transaction_isolation')).toBe('read committed');
  });

  it('takes a turn, and hears notifications', async () => {
    const turn = await takeTurn(database.url, 'presence');
    expect(await turn.isWanted()).toBe(false);
    await turn.release();
    const heard: string[] = [];
    let connected = () => {};
    const ready = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const listener = listenTo({
      url: database.url,
      channel: 'test',
      heard: (payload) => heard.push(payload),
      connected,
      lost: () => {},
      pause: () => new Promise((done) => setTimeout(done, 50)),
    });
    await ready;
    await connect().db.execute(sql`select pg_notify('test', 'once')`);
    await expect.poll(() => heard, { timeout: 5_000 }).toEqual(['once']);
    await listener.close();
  });
});

it('sends no statement over a connection whose triggers are silent, and says which setting that is', async () => {
  await set("session_replication_role = 'replica'");
  const client = connect();
  const { codes, messages } = await outcomeOf(client.db.execute(sql`select 1`));
  expect(codes).toContain('SESSION_SETTINGS');
  expect(messages).toContain('session_replication_role=origin');
  await set("session_replication_role = 'origin'");
  expect(await client.db.execute(sql`select 1 as one`)).toEqual([{ one: 1 }]);
});

it('rejects an address that asks for another meaning', async () => {
  const url = `${database.url}?DateStyle=German&search_path=pg_temp`;
  const { codes, messages } = await outcomeOf(connect(url).db.execute(sql`select 1`));
  expect(codes).toContain('SESSION_SETTINGS');
  expect(messages).toContain('DateStyle=ISO, YMD and search_path=public');
});

it('examines a connection once, with one statement that no transaction repeats', async () => {
  const statements: string[] = [];
  const { db, close } = openDatabase(database.url, { max: 1, onStatement: (_, text) => statements.push(text) });
  await db.transaction((tx) => tx.execute(sql`select 1`));
  await db.execute(sql`select 2`);
  expect(statements.filter((text) => text.includes('pg_settings'))).toHaveLength(1);
  await close(0);
});

it('fails every statement and transaction that waits for an unfit connection', async () => {
  await set("session_replication_role = 'replica'");
  const client = createClient(database.url, { max: 1, silence: 5_000 });
  const works = [client`select 1`, client.begin((tx) => tx`select 1`), client`select 2`];
  for (const { codes } of await Promise.all(works.map(outcomeOf))) expect(codes).toContain('SESSION_SETTINGS');
  await client.end({ timeout: 0 });
});

it('leaves a read-only database read-only, and counts that as an outage', async () => {
  await set('default_transaction_read_only = on');
  const { codes } = await outcomeOf(connect().db.execute(sql`create table written ()`));
  expect(codes).toContain('25006');
});
