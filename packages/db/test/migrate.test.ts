import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { migrateDatabase } from '@belay/db';
import { machine } from '@belay/program';
import { createOlderDatabase, type OlderDatabase } from '@belay/testkit/database';
import postgres from 'postgres';
import { expect, it } from 'vitest';

const folder = new URL('../drizzle/', import.meta.url);
const { entries } = JSON.parse(readFileSync(new URL('meta/_journal.json', folder), 'utf8')) as {
  entries: { tag: string; when: number }[];
};

/** Resolves when the migration waits for a lock on the table; with `none`, while it holds no other lock. */
async function untilWaiting({ sql }: OlderDatabase, table: string, holds: 'any' | 'none' = 'any'): Promise<void> {
  const waiting = () => sql`
    select from pg_locks l where relation = ${table}::regclass and mode = 'AccessExclusiveLock' and not granted
      and (${holds} = 'any' or not exists (
        select from pg_locks where pid = l.pid and relation is not null and mode = 'AccessExclusiveLock' and granted))`;
  await expect.poll(waiting, { timeout: 20_000, interval: 20 }).toHaveLength(1);
}

/** Opens a transaction as a running server would while another one migrates. */
async function openLive({ url }: OlderDatabase) {
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

async function expectNewest({ sql }: OlderDatabase, from: string): Promise<void> {
  const expected = entries.slice(entries.findIndex(({ tag }) => tag === from)).map(({ tag, when }) => ({
    hash: createHash('sha256')
      .update(readFileSync(new URL(`${tag}.sql`, folder)))
      .digest('hex'),
    created_at: String(when),
  }));
  expect(await sql`select hash, created_at from migrations where hash <> 'before' order by id`).toEqual(expected);
}

it.each(['ledger', 'grants'])(
  'ends beside a transaction that holds approvals and then writes %s, and does not end it',
  async (then) => {
    await using database = await createOlderDatabase('0058_ledger_ranges');
    const live = await openLive(database);
    await live.take('approvals', 'write');
    const migrated = migrateDatabase(database.url, machine);
    migrated.catch(() => {});
    await untilWaiting(database, 'approvals');
    await live.take(then, 'write');
    await live.commit();
    await migrated;
    await expectNewest(database, '0058_ledger_ranges');
  },
  60_000,
);

it('waits for a table that was held while it held another, without holding one', async () => {
  await using database = await createOlderDatabase('0058_ledger_ranges');
  const live = await openLive(database);
  await live.take('approvals', 'write');
  const migrated = migrateDatabase(database.url, machine);
  migrated.catch(() => {});
  await untilWaiting(database, 'approvals', 'none');
  await live.take('grants', 'write');
  await live.commit();
  await migrated;
  await expectNewest(database, '0058_ledger_ranges');
}, 60_000);

it('lets the ledger be written in time while a long read of it holds the migration up', async () => {
  await using database = await createOlderDatabase('0058_ledger_ranges');
  const reader = await openLive(database);
  await reader.take('ledger', 'read');
  const migrated = migrateDatabase(database.url, machine);
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
  await expectNewest(database, '0058_ledger_ranges');
}, 60_000);

it('fails when a table is held for ten minutes, and keeps the migrations that are done', async () => {
  await using database = await createOlderDatabase('0058_ledger_ranges');
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
  await expect(migrateDatabase(database.url, time)).rejects.toThrow(
    'Other transactions held the tables of a migration for ten minutes (55P03); end them first',
  );
  expect(delays).toHaveLength(2);
  const done = await database.sql`select created_at from migrations order by id`;
  expect(done.map(({ created_at }) => created_at)).toEqual(
    entries.filter(({ tag }) => tag >= '0057' && tag < '0059').map(({ when }) => String(when)),
  );
  await reader.commit();
  await migrateDatabase(database.url, machine);
  await expectNewest(database, '0058_ledger_ranges');
}, 60_000);
