import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type DatabaseClient, migrateDatabase, openDatabase } from '@belay/db';
import postgres from 'postgres';

/** Returns the superuser's URL of the run's PostgreSQL. */
export function serverUrl(): string {
  const url = process.env.BELAY_TEST_DATABASE_URL;
  if (!url) throw new Error('BELAY_TEST_DATABASE_URL is not set: run the tests with `npm test`');
  return url;
}

export interface TestDatabase extends DatabaseClient, AsyncDisposable {
  url: string;
  /** Runs SQL as the superuser of this database. */
  sql: postgres.Sql;
  /** Stops the database's clock at a time; every process that uses it sees that time. */
  setTime(at: Date | string): Promise<void>;
  /** Moves the stopped clock on. */
  advance(milliseconds: number): Promise<void>;
}

const migrations = new URL('../../db/drizzle/', import.meta.url);

/** Returns the migrated template of this run. Its name contains the digest of the migrations, so that an old one is never used for new ones. */
async function ensureTemplate(admin: postgres.Sql): Promise<string> {
  const hash = createHash('sha256');
  for (const file of readdirSync(migrations)
    .filter((name) => name.endsWith('.sql'))
    .sort()) {
    hash.update(readFileSync(new URL(file, migrations)));
  }
  const name = `belay_template_${hash.digest('hex').slice(0, 12)}`;
  // Test files run in several processes: one makes the template, the others wait for it.
  await admin.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(7235309)`;
    const [existing] = await tx`select 1 from pg_database where datname = ${name} and datistemplate`;
    if (existing) return;
    const maker = postgres(serverUrl(), { max: 1, onnotice: () => {} });
    try {
      await maker.unsafe(`drop database if exists ${name}`);
      await maker.unsafe(`create database ${name}`);
      await migrateDatabase(urlOf(name));
      const client = postgres(urlOf(name), { max: 1, onnotice: () => {} });
      await client.unsafe(`
        create table test_clock (at timestamptz);
        create or replace function app_now() returns timestamptz language sql stable
          as 'select coalesce((select at from public.test_clock), now())'`);
      await client.end();
      await maker.unsafe(`alter database ${name} is_template true`);
    } finally {
      await maker.end();
    }
  });
  return name;
}

function urlOf(database: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.href;
}

/** Creates a migrated database with a clock that can be stopped. Disposing drops it. */
export async function createTestDatabase(options: { max?: number } = {}): Promise<TestDatabase> {
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const template = await ensureTemplate(admin);
  const name = `belay_test_${randomBytes(6).toString('hex')}`;
  await admin.unsafe(`create database ${name} template ${template}`);
  const url = urlOf(name);
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  // A busy machine is no outage here: tests of silence open clients of their own, with the limits of a server.
  const client = openDatabase(url, { max: options.max ?? 10, statementMilliseconds: 60_000 });
  return {
    ...client,
    url,
    sql,
    async setTime(at) {
      const time = new Date(at).toISOString();
      await sql.begin(async (tx) => {
        await tx`delete from test_clock`;
        await tx`insert into test_clock (at) values (${time})`;
      });
    },
    async advance(milliseconds) {
      await sql`update test_clock set at = at + ${`${milliseconds} milliseconds`}::interval`;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([client.close(1_000), sql.end({ timeout: 1 })]);
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}
