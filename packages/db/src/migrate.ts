import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { Sql } from 'postgres';
import { closeDatabase } from './close-database.js';
import { createClient } from './connect.js';
import { takeTurn } from './turns.js';

/** How long one statement of a migration may take, in milliseconds: an index over a large table takes minutes. */
const longestStatement = 10 * 60_000;
/** How long a migration is tried again while servers that run hold its tables, in milliseconds. */
const patience = 10 * 60_000;
/**
 * How long a migration waits for one lock, in milliseconds, because everything that uses the table waits behind it. Longer than
 * PostgreSQL's `deadlock_timeout`, after which a vacuum gives way.
 */
const lockWait = 2_000;
/** How long servers that run have the tables to themselves between two attempts, in milliseconds. */
const pause = 2_000;
/** A deadlock, and a lock that others held for the whole wait. */
const held = ['40P01', '55P03'];

interface MigrationTime {
  clock(): Date;
  delay(milliseconds: number): Promise<void>;
}

/**
 * Brings the database to the newest schema, and keeps other users of its server out of it. Any number of processes may
 * call it at the same time: they take turns. Each migration is a transaction of its own, so that it never holds the tables of
 * another, and is tried again while servers that run hold its tables. Returns whether every other user of the server was kept
 * out (`closeDatabase`).
 */
export async function migrateDatabase(url: string, time: MigrationTime): Promise<{ closed: boolean }> {
  const turn = await takeTurn(url, 'migration');
  const client = createClient(url, {
    max: 1,
    silence: longestStatement + 2_000,
  });
  try {
    // Not when the connection opens: behind a pooler the limits of the database user are in force then.
    await client`select set_config(name, ${String(longestStatement)}, false) from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;
    const closed = await closeDatabase(client);
    for (const migration of await findPending(client)) await untilFree(time, () => apply(client, migration));
    return { closed };
  } finally {
    await client.end({ timeout: 5 });
    await turn.release();
  }
}

/** Returns the migrations that are newer than the newest one in the database, by the table and the rule of drizzle's migrator. */
async function findPending(client: Sql): Promise<MigrationMeta[]> {
  await client`
    create table if not exists public.migrations (id serial primary key, hash text not null, created_at bigint)`;
  const [done] = await client<{ newest: string | null }[]>`select max(created_at) as newest from public.migrations`;
  const migrationsFolder = fileURLToPath(new URL('../drizzle', import.meta.url));
  return readMigrationFiles({ migrationsFolder }).filter(
    ({ folderMillis }) => folderMillis > Number(done?.newest ?? 0),
  );
}

async function apply(client: Sql, { sql, hash, folderMillis }: MigrationMeta): Promise<void> {
  await client.begin(async (tx) => {
    await tx`select set_config('lock_timeout', ${String(lockWait)}, true)`;
    for (const statement of sql) await tx.unsafe(statement);
    await tx`insert into public.migrations (hash, created_at) values (${hash}, ${folderMillis})`;
  });
}

/** Makes an attempt again while others hold what it needs. Throws when they hold it for too long. */
async function untilFree({ clock, delay }: MigrationTime, attempt: () => Promise<void>): Promise<void> {
  const end = clock().getTime() + patience;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined || !held.includes(code)) throw error;
      // Without the code, by which the start would take the database for unreachable and begin again.
      if (clock().getTime() >= end)
        throw new Error(`Other transactions held the tables of a migration for ten minutes (${code}); end them first`);
    }
    await delay(pause);
  }
}
