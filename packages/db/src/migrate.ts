import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { Sql, TransactionSql } from 'postgres';
import { closeDatabase, endOutsiders, type Outsider } from './close-database.js';
import { createClient } from './connect.js';
import { takeTurn } from './turns.js';

/** How long one statement of a migration may take, in milliseconds: an index over a large table takes minutes. */
const longestStatement = 10 * 60_000;
/** How long a migration is retried while running servers hold its tables, in milliseconds. */
const patience = 10 * 60_000;
/**
 * How long a migration that holds no lock waits for its first one, in milliseconds. Everything else that uses the table waits
 * behind it meanwhile. Longer than PostgreSQL's `deadlock_timeout`, after which an automatic vacuum gives way.
 */
const firstWait = 2_000;
/**
 * The same for a migration that already holds locks. Far shorter than the `deadlock_timeout`, so that the migration gives up before
 * PostgreSQL could end a server's transaction to resolve a deadlock between them.
 */
const nextWait = 250;
/** How long running servers can use the tables between two attempts, in milliseconds. */
const pause = 2_000;
const shipped = new URL('../drizzle/', import.meta.url);
/** The SQLSTATEs of a deadlock, and of a lock that others held for the whole wait. */
const held = ['40P01', '55P03'];

/** The SQLSTATE with which a migration rejects a database. Its message says why, and what to do. */
const rejected = 'BL001';

/** The database is too old to be migrated. The message is one line for the operator, with the cure. */
export class OutdatedDatabaseError extends Error {
  override readonly name = 'OutdatedDatabaseError';

  constructor(message?: string) {
    super(
      message ??
        'The schema of the database is older than this version of Belay can upgrade; start revision e1d42f42 of Belay with it once, then this version',
    );
  }
}

interface MigrationTime {
  clock(): Date;
  delay(milliseconds: number): Promise<void>;
}

/**
 * Brings the database to the newest schema, and keeps other users of its server out of it. Any number of processes may call it at
 * the same time: they take turns. Each migration is a transaction of its own, so that it never holds the tables of another, and is
 * retried while running servers hold its tables. Returns whether every other user of the server was kept out (`closeDatabase`), and
 * the sessions that were there before and may not be ended. Throws
 * `OutdatedDatabaseError`.
 */
export async function migrateDatabase(
  url: string,
  time: MigrationTime,
  migrations: URL = shipped,
): Promise<{ closed: boolean; outsiders: Outsider[] }> {
  const turn = await takeTurn(url, 'migration');
  const client = createClient(url, {
    max: 1,
    silence: longestStatement + 2_000,
  });
  try {
    // Set by a statement: behind a pooler, the limits of the database user would replace settings that are sent when the connection
    // opens.
    await client`select set_config(name, ${String(longestStatement)}, false) from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;
    const closed = await closeDatabase(client);
    const outsiders = closed ? await endOutsiders(client) : [];
    for (const migration of await findPending(client, migrations)) {
      await untilFree(time, async (again) => {
        if (again) await awaitTables(client, migration, time.delay);
        await apply(client, migration).catch(throwRejection);
      });
    }
    return { closed, outsiders };
  } finally {
    await client.end({ timeout: 5 });
    await turn.release();
  }
}

/**
 * Returns the migrations that are newer than the newest one in the database, by the table and the rule of drizzle's migrator. The first
 * one replaced 60 others and has the time of the last of them, so a database with all of these is at the first one. Throws
 * `OutdatedDatabaseError` for a database with fewer of them.
 */
async function findPending(client: Sql, folder: URL): Promise<MigrationMeta[]> {
  await client`
    create table if not exists public.migrations (id serial primary key, hash text not null, created_at bigint)`;
  const [done] = await client<{ newest: string | null }[]>`select max(created_at) as newest from public.migrations`;
  const newest = Number(done?.newest ?? 0);
  const migrations = readMigrationFiles({ migrationsFolder: fileURLToPath(folder) });
  if (newest > 0 && migrations.every(({ folderMillis }) => folderMillis > newest)) throw new OutdatedDatabaseError();
  return migrations.filter(({ folderMillis }) => folderMillis > newest);
}

async function apply(client: Sql, { sql, hash, folderMillis }: MigrationMeta): Promise<void> {
  await client.begin(async (tx) => {
    await tx`select set_config('lock_timeout', ${String(firstWait)}, true)`;
    for (const [index, statement] of sql.entries()) {
      if (index === 1) await limitNextWaits(tx);
      await tx.unsafe(statement);
    }
    await tx`insert into public.migrations (hash, created_at) values (${hash}, ${folderMillis})`;
  });
}

async function limitNextWaits(tx: TransactionSql): Promise<void> {
  await tx`
    select set_config('lock_timeout', greatest(1, least(${nextWait}, setting::int / 4))::text, true)
    from pg_settings where name = 'deadlock_timeout'`;
}

/**
 * Waits for each table that a migration names, one after the other and without holding another lock. The migration itself waits
 * this long only for its first lock.
 */
async function awaitTables(client: Sql, { sql }: MigrationMeta, delay: MigrationTime['delay']): Promise<void> {
  const names = sql.flatMap((statement) => Array.from(statement.matchAll(/"(\w+)"/g), ([, name]) => name ?? ''));
  const tables = await client<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and relname in ${client(names)} order by oid`;
  for (const { name } of tables) {
    const waited = client.begin(async (tx) => {
      await tx`select set_config('lock_timeout', ${String(firstWait)}, true)`;
      await tx.unsafe(`lock table ${name} in access exclusive mode`);
    });
    await waited.catch(async (error: unknown) => {
      throwUnlessHeld(error);
      await delay(pause);
    });
  }
}

/** Repeats an attempt while other transactions hold its tables. Throws when they hold them for too long. */
async function untilFree({ clock, delay }: MigrationTime, attempt: (again: boolean) => Promise<void>): Promise<void> {
  const end = clock().getTime() + patience;
  for (let again = false; ; again = true) {
    try {
      return await attempt(again);
    } catch (error) {
      const code = throwUnlessHeld(error);
      // Thrown without the code: the code would make the start treat the database as unreachable, and begin again.
      if (clock().getTime() >= end)
        throw new Error(`Other transactions held the tables of a migration for ten minutes (${code}); end them first`);
    }
    await delay(pause);
  }
}

function throwRejection(error: unknown): never {
  const { code, message } = error as { code?: string; message?: string };
  throw code === rejected ? new OutdatedDatabaseError(message) : error;
}

/** Returns the code of an error that says that others held a lock. Throws every other error. */
function throwUnlessHeld(error: unknown): string {
  const { code } = error as { code?: string };
  if (code === undefined || !held.includes(code)) throw error;
  return code;
}
