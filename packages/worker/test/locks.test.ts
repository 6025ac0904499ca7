import { setTimeout as wait } from 'node:timers/promises';
import { makeHostile } from '@belay/testkit/hostile-settings';
import { MIGRATION_ADVISORY_LOCK_KEY } from 'bullmq';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openQueueBackend } from '../src/open-backend.js';
import { watchOutage, whileHeld } from '../src/outage.js';
import { startWorker } from '../src/start.js';
import { createWaker } from '../src/waker.js';
import { recordLog, recordVerbs, stepJob, testContext } from './support/context.js';
import { createDatabase } from './support/transports.js';

/** The lock under which BullMQ migrates the schema `bullmq`. */
const migrationLock = `pg_advisory_lock(${MIGRATION_ADVISORY_LOCK_KEY}, hashtext('bullmq'))`;
const patience = { timeout: 30_000, interval: 50 };

let database: Awaited<ReturnType<typeof createDatabase>>;
let admin: Client;
const clients: Client[] = [];
const roles: string[] = [];

beforeEach(async () => {
  database = await createDatabase();
  admin = await connect();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
  await database.drop();
  const server = new URL(database.url);
  server.pathname = '/postgres';
  const client = new Client(server.href);
  await client.connect();
  for (const role of roles.splice(0)) await client.query(`drop role ${role}`);
  await client.end();
});

async function connect(url = database.url.href): Promise<Client> {
  const client = new Client(url);
  client.on('error', () => {});
  await client.connect();
  clients.push(client);
  return client;
}

/** Makes a login and returns the database's URL for it. */
async function login(options = ''): Promise<{ name: string; url: string }> {
  const name = `locks_${database.url.pathname.slice(-8)}_${roles.length}`;
  await admin.query(`create role ${name} login password 'secret' ${options}`);
  roles.push(name);
  const url = new URL(database.url);
  url.username = name;
  url.password = 'secret';
  return { name, url: url.href };
}

const open = (databaseUrl = database.url.href) => openQueueBackend({ databaseUrl, log: recordLog() });

describe('the lock of the migration of the queue’s tables, held by the session of another login', () => {
  it('is not needed when the tables are those of this version', async () => {
    await (await open()).close();
    const other = await connect((await login()).url);
    await other.query(`select ${migrationLock}`);
    const backend = await open();
    expect(await backend.check()).toBe('healthy');
    await backend.close();
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('is released by ending that session, where this is permitted', async () => {
    const other = await connect((await login()).url);
    await other.query(`select ${migrationLock}`);
    const backend = await open();
    expect(await backend.check()).toBe('healthy');
    await backend.close();
    await expect(other.query('select 1')).rejects.toThrow();
  });

  it('stops the start soon, with a line that names the session, where ending it is not permitted', async () => {
    const own = await login();
    await admin.query(`grant create on database ${database.url.pathname.slice(1)} to ${own.name}`);
    const other = await login();
    const holder = await connect(other.url);
    const { rows } = await holder.query<{ pid: number }>(`select ${migrationLock}, pg_backend_pid() as pid`);
    const begun = performance.now();
    const opening = open(own.url);
    await expect(opening).rejects.toThrow(
      new RegExp(`is held by the session ${rows[0]?.pid} \\(login "${other.name}"\\); end it .*pg_terminate_backend`),
    );
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

it('counts as away while its locks are held, also when other statements succeed, and as there again afterwards', async () => {
  const backend = await open();
  const verbs = recordVerbs();
  const log = recordLog();
  const worker = await startWorker({ context: testContext(log), backend, verbs });
  const waker = createWaker(backend, log, { now: Date.now });
  const other = await connect();
  await other.query('begin; lock table bullmq.job in access exclusive mode');
  const sent = setInterval(() => waker.wake([stepJob()]), 200);
  await vi.waitFor(() => expect(backend.isAway()).toBe(true), patience);
  for (let nth = 0; nth < 5; nth += 1) {
    expect(await backend.check()).toMatch(/^other sessions hold the tables of the queue \(/);
    expect(backend.isAway()).toBe(true);
    await wait(100);
  }
  await other.query('rollback');
  await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), patience);
  expect(backend.isAway()).toBe(false);
  clearInterval(sent);
  await waker.close();
  await worker.stop();
  await backend.close();
});

it('ends an outage of locks when the statement succeeds, or is not sent for ten seconds', () => {
  let now = 0;
  const outage = whileHeld(
    watchOutage(recordLog(), 'a queue', undefined, () => now),
    () => now,
  );
  const held = Object.assign(new Error('held'), { code: '55P03' });
  outage.down(held, 'fetch');
  outage.up('select 1');
  expect([outage.reason(), outage.isHeld()]).toEqual(['55P03', true]);
  outage.up('fetch');
  expect([outage.reason(), outage.isHeld()]).toEqual([null, false]);
  outage.down(held, 'add');
  now = 10_001;
  outage.up('select 1');
  expect([outage.reason(), outage.isHeld()]).toEqual([null, false]);
});

it('works where every default of the database is hostile', async () => {
  const name = database.url.pathname.slice(1);
  for (const statement of makeHostile(`database ${name}`, 180_000)) await admin.query(statement);
  const backend = await open();
  const verbs = recordVerbs();
  const worker = await startWorker({ context: testContext(recordLog()), backend, verbs });
  const waker = createWaker(backend, recordLog(), { now: Date.now });
  waker.wake(Array.from({ length: 20 }, () => stepJob()));
  await vi.waitFor(() => expect(verbs.calls).toHaveLength(20), patience);
  await waker.close();
  await worker.stop();
  await backend.close();
});
