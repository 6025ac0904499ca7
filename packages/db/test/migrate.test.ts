import { migrateDatabase } from '@belay/db';
import { machine } from '@belay/program';
import { createEmptyDatabase, type EmptyDatabase } from '@belay/testkit/database';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { makeMigrations } from './support/migrations.js';

/**
 * Returns a database at the first migration. `migrate` applies two later ones, of which one locks the ledger, and the other one grants
 * and then approvals.
 */
async function openOlder() {
  const database = await createEmptyDatabase();
  const older = await makeMigrations();
  const newer = await makeMigrations(
    'ALTER TABLE "ledger" ADD COLUMN "later" text;',
    'ALTER TABLE "grants" ADD COLUMN "later" text;--> statement-breakpoint\nALTER TABLE "approvals" ADD COLUMN "later" text;',
  );
  await migrateDatabase(database.url, machine, older.folder);
  return {
    ...database,
    migrate: (time: Pick<typeof machine, 'clock' | 'delay'> = machine) =>
      migrateDatabase(database.url, time, newer.folder),
    done: () => database.sql`select hash, created_at from migrations order by id`,
    all: newer.rows,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await older[Symbol.asyncDispose]();
      await newer[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when the migration waits for a lock on the table; with `none`, while it holds no other lock. */
async function untilWaiting({ sql }: EmptyDatabase, table: string, holds: 'any' | 'none' = 'any'): Promise<void> {
  const waiting = () => sql`
    select from pg_locks l where relation = ${table}::regclass and mode = 'AccessExclusiveLock' and not granted
      and (${holds} = 'any' or not exists (
        select from pg_locks where pid = l.pid and relation is not null and mode = 'AccessExclusiveLock' and granted))`;
  await expect.poll(waiting, { timeout: 20_000, interval: 20 }).toHaveLength(1);
}

/** Opens a transaction as a running server would while another one migrates. */
async function openLive({ url }: EmptyDatabase) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  // PostgreSQL ends the transaction that detects a deadlock: with this setting the one of the server, whichever of the two waited
  // first.
  await sql`set deadlock_timeout = '900ms'`;
  await sql`begin`;
  return {
    /** Takes the lock that every statement of this kind takes. */
    take: (table: string, kind: 'read' | 'write') =>
      sql.unsafe(`lock table ${table} in ${kind === 'read' ? 'access share' : 'row exclusive'} mode`),
    async commit() {
      await sql`commit`;
      await sql.end();
    },
  };
}

it.each(['ledger', 'grants'])(
  'ends beside a transaction that holds approvals and then writes %s, and does not end it',
  async (then) => {
    await using database = await openOlder();
    const live = await openLive(database);
    await live.take('approvals', 'write');
    const migrated = database.migrate();
    migrated.catch(() => {});
    await untilWaiting(database, 'approvals');
    await live.take(then, 'write');
    await live.commit();
    await migrated;
    expect(await database.done()).toEqual(database.all);
  },
  60_000,
);

it('waits for a table that was held while it held another, without holding one', async () => {
  await using database = await openOlder();
  const live = await openLive(database);
  await live.take('approvals', 'write');
  const migrated = database.migrate();
  migrated.catch(() => {});
  await untilWaiting(database, 'approvals', 'none');
  await live.take('grants', 'write');
  await live.commit();
  await migrated;
  expect(await database.done()).toEqual(database.all);
}, 60_000);

it('lets the ledger be written in time while a long read of it holds the migration up', async () => {
  await using database = await openOlder();
  const reader = await openLive(database);
  await reader.take('ledger', 'read');
  const migrated = database.migrate();
  migrated.catch(() => {});
  for (let write = 0; write < 3; write += 1) {
    await untilWaiting(database, 'ledger');
    const began = performance.now();
    const writer = await openLive(database);
    const written = writer.take('ledger', 'write');
    const late = new Promise((resolve) => setTimeout(resolve, 4_500, 'late').unref());
    expect(await Promise.race([written.then(() => 'written'), late])).toBe('written');
    expect(performance.now() - began).toBeLessThan(3_500);
    await writer.commit();
  }
  await reader.commit();
  await migrated;
  expect(await database.done()).toEqual(database.all);
}, 60_000);

it('fails when a table is held for ten minutes, and keeps the migrations that are done', async () => {
  await using database = await openOlder();
  const reader = await openLive(database);
  await reader.take('grants', 'read');
  let now = Date.now();
  const delays: number[] = [];
  const time = {
    clock: () => new Date(now),
    async delay(milliseconds: number) {
      delays.push(milliseconds);
      now += 6 * 60_000;
    },
  };
  await expect(database.migrate(time)).rejects.toThrow(
    'Other transactions held the tables of a migration for ten minutes (55P03); end them first',
  );
  expect(delays).toHaveLength(2);
  expect(await database.done()).toEqual(database.all.slice(0, 2));
  await reader.commit();
  await database.migrate();
  expect(await database.done()).toEqual(database.all);
}, 60_000);
