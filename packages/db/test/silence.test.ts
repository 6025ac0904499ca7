import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type DatabaseClient, listenTo, openDatabase, takeTurn } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';

/** A connection counts as silent one second after the time limit of its statement. */
const statementMilliseconds = 500;
const silence = statementMilliseconds + 1_000;
/** The time that a busy machine may add; the code of each error shows which limit ended it. */
const slack = 10_000;

let database: TestDatabase;
let proxy: FaultyProxy;
let url: string;
let client: DatabaseClient;

beforeEach(async () => {
  database = await createTestDatabase();
  const target = new URL(database.url);
  proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  url = target.href;
  client = openDatabase(url, { max: 3, statementMilliseconds });
});
afterEach(async () => {
  await client.close(0);
  await proxy[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const select = () => client.db.execute(sql`select 1 as one`);

async function outcomeOf(work: Promise<unknown>): Promise<{ codes: string; milliseconds: number }> {
  const started = performance.now();
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const codes: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) codes.push('code' in one ? String(one.code) : '');
  return { codes: codes.join(' '), milliseconds: performance.now() - started };
}

it('destroys a connection that sent something and got no response, and the idle ones with it', async () => {
  // Three connections, of which one is used while nothing gets through; all three stay silent afterwards.
  await Promise.all([1, 2, 3].map(() => client.db.transaction((tx) => tx.execute(sql`select 1`))));
  proxy.swallow(true);
  const { codes, milliseconds } = await outcomeOf(select());
  proxy.swallow(false);
  expect(codes).toContain('CONNECTION_SILENT');
  expect(milliseconds).toBeGreaterThan(silence - 100);
  expect(milliseconds).toBeLessThan(silence + slack);
  // None of these statements waits for a silence of its own.
  const later = await Promise.all([1, 2, 3, 4].map(() => outcomeOf(select())));
  expect(later.map((one) => one.codes)).toEqual(['', '', '', '']);
  for (const one of later) expect(one.milliseconds).toBeLessThan(silence);
});

it('notices on its own that idle connections are lost, before a statement uses one', async () => {
  const usual = openDatabase(url, { max: 3 });
  await Promise.all([1, 2, 3].map(() => usual.db.transaction((tx) => tx.execute(sql`select 1`))));
  proxy.lose('half-open');
  // One second until the check, and three for its response.
  await pause(4_500);
  const later = await Promise.all([1, 2, 3].map(() => outcomeOf(usual.db.execute(sql`select 1`))));
  await usual.close(0);
  expect(later.map((one) => one.codes)).toEqual(['', '', '']);
  for (const one of later) expect(one.milliseconds).toBeLessThan(slack);
});

it('closes a connection that is idle for long, even when it is checked often', async () => {
  const connection = { application_name: 'belay idle' };
  const idle = createClient(url, {
    max: 1,
    silence: 5_500,
    pulse: { every: 100, answer: 3_000 },
    idle_timeout: 1,
    connection,
  });
  await idle`select 1`;
  const open = () => database.sql`select from pg_stat_activity where application_name = ${connection.application_name}`;
  expect(await open()).toHaveLength(1);
  await expect.poll(async () => (await open()).length, { timeout: 30_000 }).toBe(0);
  await idle.end();
});

it('gives a statement that was sent later a second more when another one was not answered', async () => {
  const usual = openDatabase(url, { max: 2 });
  // Both connections are in a transaction, so that no idle one can be checked.
  let begun = 0;
  const work = [0, 4_000].map((later) =>
    usual.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      begun += 1;
      await expect.poll(() => begun).toBe(2);
      if (later === 0) proxy.lose('half-open');
      await pause(later);
      await tx.execute(sql`select 2`);
    }),
  );
  const ends = await Promise.all(work.map(outcomeOf));
  for (const { codes, milliseconds } of ends) {
    expect(codes).toMatch(/CONNECTION_SILENT|CONNECTION_CLOSED/);
    // At most 4.5 seconds, 1 second and one more, instead of 4 seconds and another 5.5.
    expect(milliseconds).toBeLessThan(9_000);
  }
  await usual.db.execute(sql`select 3`);
  await usual.close(0);
});

it('lets a statement finish whose connection has heard something since another went silent', async () => {
  const slow = openDatabase(url, { max: 2, statementMilliseconds: 3_000 });
  await slow.db.execute(sql`select 1`);
  proxy.lose('half-open');
  const lost = outcomeOf(slow.db.execute(sql`select 1`));
  await pause(3_000);
  // On another connection, for nearly the limit of a statement: the first connection is given up while this one runs.
  await slow.db.execute(sql`select 2`);
  const finished = outcomeOf(slow.db.execute(sql`select pg_sleep(2.5)`));
  expect((await lost).codes).toContain('CONNECTION_SILENT');
  expect((await finished).codes).toBe('');
  await slow.close(0);
});

it('notices silence between two statements of a transaction, and at its commit', async () => {
  for (const swallowBefore of [1, 2]) {
    const work = client.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      if (swallowBefore === 1) proxy.swallow(true);
      await tx.execute(sql`select 2`);
      proxy.swallow(true);
    });
    const { codes, milliseconds } = await outcomeOf(work);
    proxy.swallow(false);
    expect([swallowBefore, codes]).toEqual([
      swallowBefore,
      expect.stringMatching(/CONNECTION_SILENT|CONNECTION_CLOSED/),
    ]);
    expect(milliseconds).toBeLessThan(silence + slack);
  }
});

it('notices silence after the first of several responses', async () => {
  await client.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    await tx.execute(sql`select pg_sleep(0.2)`);
  });
  const work = client.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    const first = tx.execute(sql`select 1`).execute();
    const second = tx.execute(sql`select pg_sleep(0.2)`).execute();
    await first;
    proxy.swallow(true);
    await second;
  });
  const { codes, milliseconds } = await outcomeOf(work);
  expect(codes).toMatch(/CONNECTION_SILENT|CONNECTION_CLOSED/);
  expect(milliseconds).toBeLessThan(silence + slack);
});

it('leaves no lock behind when the connection goes silent while the parameters of a statement are described', async () => {
  await database.sql`create table locked (id int primary key, note text)`;
  await database.sql`insert into locked values (1, '')`;
  const work = client.db.transaction(async (tx) => {
    await tx.execute(sql`update locked set note = 'mine' where id = 1`);
    // The response to the next message of the transaction is the first one that is lost.
    proxy.loseAnswers(() => {
      proxy.swallow(true);
      return false;
    });
    await tx.execute(sql`update locked set note = ${'again'} where id = ${1}`);
  });
  expect((await outcomeOf(work)).codes).toMatch(/CONNECTION_SILENT|CONNECTION_CLOSED/);
  proxy.loseAnswers(undefined);
  // The server does not notice that the client is gone, only that the transaction is idle.
  await database.sql`set lock_timeout = '3s'`;
  await database.sql`update locked set note = 'free' where id = 1`;
});

it('gives up a new connection that is accepted and never responds', async () => {
  proxy.swallow(true);
  const { codes, milliseconds } = await outcomeOf(select());
  expect(codes).toMatch(/CONNECT_TIMEOUT|CONNECTION_SILENT/);
  expect(milliseconds).toBeLessThan(3_000 + slack);
});

it('limits the wait for a place in the pool, and gives the place to the next afterwards', async () => {
  let release = () => {};
  const single = openDatabase(url, { max: 1 });
  let holding: Promise<void> = Promise.resolve();
  await new Promise<void>((taken) => {
    holding = single.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      taken();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
  });
  const waiting = outcomeOf(single.db.execute(sql`select 2`));
  const inTransaction = outcomeOf(single.db.transaction((tx) => tx.execute(sql`select 3`)));
  for (const { codes, milliseconds } of await Promise.all([waiting, inTransaction])) {
    expect(codes).toContain('POOL_TIMEOUT');
    expect(milliseconds).toBeLessThan(3_000 + slack);
  }
  release();
  await holding;
  expect(await single.db.execute(sql`select 4 as four`)).toEqual([{ four: 4 }]);
  await single.close();
});

it('keeps a connection that is idle, and one whose answer came while the process itself stood still', async () => {
  const [before] = await client.db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  // Not at a whole second, when the pool checks this connection and a statement takes another one.
  await pause(silence + 900);
  const answer = client.db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  // The statement is sent, then this process is blocked for longer than a silence.
  await pause(5);
  const until = performance.now() + silence + 500;
  while (performance.now() < until);
  expect(await answer).toEqual([before]);
});

it('listens again after its connection went silent, and reports it', async () => {
  const told: string[] = [];
  const listening = listenTo({
    url,
    channel: 'belay_test',
    heard: (payload) => void told.push(payload),
    connected: () => void told.push('connected'),
    lost: () => void told.push('lost'),
    pause: (signal) => pause(200, undefined, { signal }),
  });
  await expect.poll(() => told, { timeout: 30_000 }).toEqual(['connected']);
  proxy.swallow(true);
  await expect.poll(() => told.slice(0, 2), { timeout: 30_000 }).toEqual(['connected', 'lost']);
  proxy.swallow(false);
  await expect.poll(() => told.at(-1), { timeout: 30_000 }).toBe('connected');
  await database.sql`select pg_notify('belay_test', 'hello')`;
  await expect.poll(() => told.at(-1), { timeout: 30_000 }).toBe('hello');
  await listening.close();
});

it('returns for how long its oldest statement or transaction has waited', async () => {
  let now = 0;
  const timed = openDatabase(url, { max: 3, now: () => now });
  const held: (() => void)[] = [];
  expect(timed.waited()).toBe(0);
  const transaction = timed.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    await new Promise<void>((resolve) => held.push(resolve));
  });
  now = 100;
  // The transaction is what still waits after this statement.
  await timed.db.execute(sql`select 1`);
  await expect.poll(() => held.length, { timeout: 30_000 }).toBe(1);
  now = 150;
  expect(timed.waited()).toBe(150);
  held.pop()?.();
  await transaction;
  expect(timed.waited()).toBe(0);
  const failing = timed.db.execute(sql`select 1 / 0`).execute();
  now = 180;
  expect(timed.waited()).toBe(30);
  await expect(failing).rejects.toThrow();
  expect(timed.waited()).toBe(0);
  await timed.close();
});

it('does not wait without limit for a turn over a lost connection', async () => {
  const held = await takeTurn(database.url, 'presence');
  const waiting = outcomeOf(takeTurn(url, 'presence'));
  await expect.poll(() => held.isWanted(), { timeout: 30_000 }).toBe(true);
  proxy.swallow(true);
  expect((await waiting).codes).toMatch(/CONNECTION_SILENT|CONNECTION_CLOSED/);
  await held.release();
});
