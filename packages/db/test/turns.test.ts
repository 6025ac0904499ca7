import { randomBytes } from 'node:crypto';
import { migrateDatabase, takeTurn, tryTurn } from '@belay/db';
import { machine } from '@belay/program';
import { createTestDatabase, serverUrl } from '@belay/testkit/database';
import postgres from 'postgres';
import { expect, it, vi } from 'vitest';

it('gives a turn to one process alone, or to several that share it, and to the next as soon as it is released', async () => {
  await using database = await createTestDatabase();
  const first = await takeTurn(database.url, 'demo_workers', { shared: true });
  const second = await takeTurn(database.url, 'demo_workers', { shared: true });
  expect([await first.isWanted(), await tryTurn(database.url, 'demo_workers')]).toEqual([false, undefined]);
  const alone = takeTurn(database.url, 'demo_workers');
  await expect.poll(() => first.isWanted(), { timeout: 30_000 }).toBe(true);
  await first.release();
  expect(await second.isWanted()).toBe(true);
  await second.release();
  await (await alone).release();
  const left = await tryTurn(database.url, 'demo_workers');
  expect(left).toBeDefined();
  await left?.release();
});

it('is shared by processes that take it for the first time at the same moment', async () => {
  await using database = await createTestDatabase();
  for (let round = 0; round < 20; round += 1) {
    await database.sql`drop table if exists public.turn_demo_workers`;
    const takes = Array.from({ length: 8 }, () => takeTurn(database.url, 'demo_workers', { shared: true }));
    const turns = await Promise.all(takes);
    await Promise.all(turns.map((turn) => turn.release()));
  }
});

it('stops waiting when aborted, and notices that a turn was lost with its connection', async () => {
  await using database = await createTestDatabase();
  const held = await takeTurn(database.url, 'presence');
  const waiting = new AbortController();
  const other = takeTurn(database.url, 'presence', { signal: waiting.signal });
  waiting.abort();
  await expect(other).rejects.toThrow();
  await database.sql`
    select pg_terminate_backend(pid) from pg_locks
    where relation = 'public.turn_presence'::regclass and granted and pid <> pg_backend_pid()`;
  await vi.waitFor(() => expect(held.isWanted()).rejects.toThrow(/was lost/), { timeout: 30_000 });
  await held.release();
});

it('closes a database at its migration, and reports when its user may not, or may not end a session that was there before', async () => {
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const suffix = randomBytes(6).toString('hex');
  const [name, user, password] = [`belay_test_${suffix}`, `tenant_${suffix}`, randomBytes(8).toString('hex')];
  const other = `stranger_${suffix}`;
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  const mine = Object.assign(new URL(url), { username: user, password });
  try {
    for (const role of [user, other]) await admin.unsafe(`create role ${role} login password '${password}'`);
    await admin.unsafe(`create database ${name}`);
    await admin.unsafe(`grant create on database ${name} to ${user}`);
    const inside = postgres(url.href, { max: 1, onnotice: () => {} });
    // As in a database that was created before PostgreSQL 15.
    await inside.unsafe('grant create on schema public to public');
    await inside.end();
    expect(await migrateDatabase(mine.href, machine)).toEqual({ closed: false, outsiders: [] });
    const stranger = postgres(Object.assign(new URL(url), { username: other, password }).href, {
      max: 1,
      onnotice: () => {},
    });
    const [session] = await stranger<{ pid: number }[]>`select pg_backend_pid() as pid, pg_advisory_lock(1)`;
    await admin.unsafe(`alter database ${name} owner to ${user}`);
    const left = [{ pid: session?.pid, login: other }];
    expect(await migrateDatabase(mine.href, machine)).toEqual({ closed: true, outsiders: left });
    const [open] = await admin`
      select has_database_privilege('public', ${name}, 'connect') as connect, has_database_privilege('public', ${name}, 'temporary') as temporary`;
    expect(open).toEqual({ connect: false, temporary: false });
    await admin.unsafe(`grant pg_signal_backend to ${user}`);
    expect(await migrateDatabase(mine.href, machine)).toEqual({ closed: true, outsiders: [] });
    const isThere = () => admin`select from pg_stat_activity where pid = ${session?.pid ?? 0}`;
    await expect.poll(isThere).toEqual([]);
    await stranger.end({ timeout: 0 });
  } finally {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    for (const role of [user, other]) await admin.unsafe(`drop role if exists ${role}`);
    await admin.end();
  }
});
