import { AccessError } from '@belay/contract/errors';
import { isOutage } from '@belay/contract/outage';
import { isOwnFailure, noteOutage, openCatalog } from '@belay/core';
import { openDatabase } from '@belay/db';
import { Retryable } from '@belay/providers';
import { sweep } from '@belay/testkit/sweep';
import { ExpressionOutage } from '@belay/workflow';
import { sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import { type Loss, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { access, approve, minute, openCast, request, statusOf } from './support/stories.js';

const losses: Loss[] = ['reset', 'close', 'half-close'];

it('waits out lost connections at every point of an elevation: no execution faults, and no access ends', async () => {
  await using cast = await openCast();
  const { house, ada, grace } = cast;
  const target = new URL(house.database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  const client = openDatabase(target.href, { max: 2 });
  const lines = new Set<string>();
  const add = (_: object, message: string) => void lines.add(message);
  const broken = { ...house.ctx, db: client.db, log: { debug() {}, info() {}, warn: add, error: add } };
  let failures = 0;
  const workBadly = async (chunk: number) => {
    proxy.loseAfter(chunk, losses[chunk % losses.length] ?? 'reset');
    await sweep(broken).catch((error: unknown) => {
      expect(isOutage(error)).toBe(true);
      failures += 1;
    });
  };
  for (let chunk = 0; chunk < 30; chunk += 2) {
    const id = await request(ada);
    for (let look = 0; look < 3; look += 1) {
      await workBadly(chunk);
      await house.pass(minute);
    }
    await approve(grace, id);
    for (let look = 0; look < 3; look += 1) {
      await workBadly(chunk);
      await house.pass(minute);
    }
    expect([chunk, await statusOf(ada, id), house.provider.holds('ada@example.com', access)]).toEqual([
      chunk,
      'waiting',
      true,
    ]);
    await house.pass(40 * minute);
    expect([chunk, await statusOf(ada, id)]).toEqual([chunk, 'completed']);
  }
  expect(failures).toBeGreaterThan(0);
  // Calls of executions log no lines of their own: the outage has one line.
  expect(lines).toContain('the database cannot be reached; requests are rejected with 503 meanwhile');
  expect(lines).not.toContain('a call is postponed');
  await client.close();
});

it('tells an outage of the database from other errors, by codes and through causes', () => {
  const coded = (name: string, code: string) => Object.assign(new Error('x'), { name, code });
  const statement = { query: 'select', parameters: [] };
  for (const error of [
    ...[
      coded('Error', 'CONNECTION_CLOSED'),
      coded('Error', 'ECONNRESET'),
      coded('PostgresError', '57P01'),
      coded('PostgresError', '53300'),
      coded('PostgresError', '40P01'),
      coded('PostgresError', '25P03'),
    ].map((error) => Object.assign(error, statement)),
    new ExpressionOutage('too many expressions are waiting'),
    // As the query builder wraps it.
    Object.assign(new Error('Failed query', { cause: coded('PostgresError', '57P03') }), { query: 'x', params: [] }),
  ]) {
    expect(isOutage(error)).toBe(true);
  }
  for (const error of [
    coded('PostgresError', '23505'),
    coded('PostgresError', '42601'),
    coded('AccessError', 'invalid'),
    new Retryable('x'),
    new Error('x'),
    'CONNECTION_CLOSED',
    // Errors of other systems: only errors of our database have a statement.
    coded('Error', 'ECONNRESET'),
    new Error('fetch failed', { cause: coded('Error', 'ECONNREFUSED') }),
    new Retryable('The target is away', { cause: Object.assign(coded('Error', 'ECONNREFUSED'), statement) }),
    // A verb has already classified this error: an outage of a provider is not an outage of our database.
    new AccessError('unavailable', 'The provider cannot be reached', { cause: coded('Error', 'ECONNREFUSED') }),
  ]) {
    expect(isOutage(error)).toBe(false);
  }
});

it('has the error of a connection that is lost between two statements of a transaction for its own', async () => {
  await using cast = await openCast();
  const target = new URL(cast.house.database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  const client = openDatabase(target.href, { max: 1 });
  for (const loss of losses) {
    const work = client.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      proxy.lose(loss);
      // The error ends the transaction although this wait never ends.
      await new Promise(() => {});
    });
    const error = await work.catch((thrown: unknown) => thrown);
    expect([loss, isOutage(error)]).toEqual([loss, true]);
  }
  const thrown = Object.assign(new Error('of another system'), { code: 'ECONNREFUSED' });
  const own = client.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    throw thrown;
  });
  expect(isOutage(await own.catch((error: unknown) => error))).toBe(false);
  await client.close(0);
});

it('tells a connection of a provider that failed from one of its own database', async () => {
  await using cast = await openCast();
  const { house, ada } = cast;
  const lines: string[] = [];
  const add = (_: object, message: string) => void lines.push(message);
  const ctx = { ...house.ctx, log: { debug() {}, info() {}, warn: add, error: add } };
  const id = await request(ada, { workflow: 'automatic' });
  // The calls of the workflow, and the grant.
  for (const call of ['holds', 'ensurePresent'] as const) house.provider.inject(call, { kind: 'unreachable' }, 2);
  await sweep(ctx);
  const errors = new Set<unknown>();
  for (let time = 0; time < 20; time += 1) {
    await house.database.advance(minute / 4);
    await sweep(ctx);
    const [row] = await house.database.sql`select last_error from entitlements`;
    errors.add(row?.last_error);
  }
  expect([...errors]).toContain('The provider failed unexpectedly');
  expect([await statusOf(ada, id), house.provider.holds('ada@example.com', access)]).toEqual(['waiting', true]);
  expect(lines).toContain('the grant call failed: The provider failed unexpectedly');
  expect(lines.filter((line) => line.includes('the database cannot be reached'))).toEqual([]);
});

it('takes every error of its own database for its own, and no other', async () => {
  await using cast = await openCast();
  const { db } = cast.house.ctx;
  const refused = await db.execute(sql`select 1 / ${0}::int`).catch((error: unknown) => error);
  const inTransaction = await db
    .transaction((tx) => tx.execute(sql`select * from missing_table`))
    .catch((error: unknown) => error);
  expect([refused, inTransaction].map(isOwnFailure)).toEqual([true, true]);
  expect([new Error('x'), new AccessError('invalid', 'x', { cause: refused })].map(isOwnFailure)).toEqual([
    false,
    false,
  ]);
});

it('writes one line for an outage, however long it goes on and however many requests meet it', () => {
  const lines: string[] = [];
  const log = { ...console, error: (_: object, message: string) => void lines.push(message) };
  let now = 0;
  const meet = () =>
    noteOutage({ log, clock: () => new Date(now) }, Object.assign(new Error('x'), { code: 'ECONNRESET' }));
  for (; now < 3_600_000; now += 10_000) meet();
  expect(lines).toHaveLength(1);
  now += minute;
  meet();
  expect(lines).toHaveLength(2);
});

it('follows the configuration through an outage with one line of the log and no stack', async () => {
  await using cast = await openCast();
  const { house } = cast;
  const { connectors } = house;
  const lines: { detail: object; message: string }[] = [];
  const add = (detail: object, message: string) => void lines.push({ detail, message });
  const log = { debug() {}, info() {}, warn: add, error: add };
  const client = openDatabase(house.database.url, { max: 1 });
  let looks = 0;
  const delay = async (_: number, signal?: AbortSignal) => {
    looks += 1;
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
  };
  const { timing } = house.ctx;
  const catalog = await openCatalog({
    db: client.db,
    connectors,
    resolve: () => undefined,
    log,
    timing,
    delay,
    now: Date.now,
  });
  await client.close(0);
  catalog.follow();
  await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(20);
  await catalog.close();
  expect(lines).toEqual([
    { detail: { because: 'CONNECTION_ENDED' }, message: expect.stringContaining('the database') },
  ]);
});
