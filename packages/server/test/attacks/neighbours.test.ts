import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { applyCatalog, type Logger, rotateEncryptionKey, withActor } from '@belay/core';
import { migrateDatabase } from '@belay/db';
import { machine } from '@belay/program';
import { createRegistry, type EncryptionService, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { serverUrl } from '@belay/testkit/database';
import { createWorld, type World } from '@belay/testkit/world';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoControl } from '../../../demo/src/control.js';
import { startSwitchableWorker } from '../../../demo/src/switchable-worker.js';

/** Attacks by other users of the same database server, as every person of the demo is. */

const log: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const delay = (milliseconds: number, signal?: AbortSignal) => wait(milliseconds, undefined, { signal });
const name = `stranger_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
let world: World;
let admin: postgres.Sql;

beforeAll(async () => {
  world = await createWorld();
  admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  await admin.unsafe(`create role ${name} login password '${password}'`);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await admin.unsafe(`drop role ${name}`);
  await admin.end();
});

function asStranger(database: string): postgres.Sql {
  const url = new URL(database);
  url.username = name;
  url.password = password;
  return postgres(url.href, { max: 1, onnotice: () => {}, fetch_types: false, connect_timeout: 10 });
}

/** Creates and migrates a database, which is dropped after the test. */
async function makeDatabase(): Promise<{ url: string } & AsyncDisposable> {
  const database = `belay_test_${randomBytes(6).toString('hex')}`;
  await admin.unsafe(`create database ${database}`);
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  await migrateDatabase(url.href, machine);
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => void (await admin.unsafe(`drop database ${database} with (force)`)),
  };
}

const within = <T>(work: Promise<T>): Promise<T | 'too late'> =>
  Promise.race([work, wait(10_000, 'too late' as const, { ref: false })]);

describe('another user of the database server', () => {
  it('may not connect to the database of Belay once it is migrated', async () => {
    await using database = await makeDatabase();
    const stranger = asStranger(database.url);
    const attempt = stranger`select 1`.catch((error: { code?: string }) => error.code);
    expect(await attempt).toBe('42501');
    await stranger.end();
  });

  it('who may connect after all cannot lock, read or listen in on anything of Belay’s', async () => {
    // Such access exists where the operator granted it again, or where Belay's user does not own the database.
    const stranger = asStranger(world.database.url);
    const tables = await world.database.sql<{ at: string }[]>`
      select format('%I.%I', schemaname, tablename) as at from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`;
    expect(tables.length).toBeGreaterThan(10);
    for (const { at } of tables) {
      for (const statement of [
        `lock table ${at} in access share mode`,
        `select from ${at}`,
        `select from ${at} for share`,
      ]) {
        const outcome = stranger.begin((tx) => tx.unsafe(statement)).catch((error: { code?: string }) => error.code);
        expect([statement, await outcome]).toEqual([statement, '42501']);
      }
    }
    expect(await stranger`create table public.mine ()`.catch((error: { code?: string }) => error.code)).toBe('42501');
    await stranger.end();
  });

  it('stops nothing with advisory locks: starts, configurations, keys and the workers of the demo go on', async () => {
    // By name, because a start ends the sessions of those who may no longer connect.
    await world.database.sql.unsafe(
      `grant connect on database ${new URL(world.database.url).pathname.slice(1)} to ${name}`,
    );
    const stranger = asStranger(world.database.url);
    // Every key that any version of Belay uses, and the keys near them.
    await stranger`select pg_advisory_lock(key) from generate_series(7235309100::bigint, 7235309200::bigint) key`;
    await stranger`select pg_advisory_lock(7235309)`;

    expect(await within(migrateDatabase(world.database.url, machine))).not.toBe('too late');

    const { document } = world.context.catalog.current();
    const changed = { document: { ...document, server: { callbacks: ['https://a.example'] } }, source: 'test' };
    const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
    const applied = applyCatalog(world.context.db, changed, { connectors, resolve: () => undefined });
    expect(await within(applied)).toMatchObject({ applied: true });

    const service: EncryptionService = {
      wrap: async (material) => ({ wrapped: material, key: 'k' }),
      unwrap: async ({ wrapped }) => wrapped,
      check: async () => {},
      close: async () => {},
    };
    const operator = withActor(world.context, { kind: 'operator', name: 'test' });
    const rotated = rotateEncryptionKey(operator, { wrapping: { service, name: 'test' } });
    expect(await within(rotated)).toMatchObject({ retired: undefined });

    const state = { running: 0 };
    const start = async () => {
      state.running += 1;
      return { stop: async () => void (state.running -= 1) };
    };
    const options = { databaseUrl: world.database.url, log, delay };
    const worker = await startSwitchableWorker({ ...options, start });
    expect(state).toEqual({ running: 1 });
    // A notification on any channel does not stop the workers either.
    await stranger`select pg_notify('belay_demo_stop_workers', '')`;
    const control = await startDemoControl({ ...options, port: 0, secret: 'secret' });
    const stopped = fetch(`${control.url}/workers`, {
      method: 'POST',
      headers: { authorization: 'Bearer secret' },
      body: JSON.stringify({ running: false }),
    });
    expect(await within(stopped)).toMatchObject({ status: 200 });
    expect(state).toEqual({ running: 0 });
    await control.close();
    await worker.stop();
    await stranger.end();
  });
});
