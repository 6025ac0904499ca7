import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { migrateDatabase } from '@belay/db';
import { machine } from '@belay/program';
import postgres from 'postgres';

/** Returns the superuser's URL of the run's PostgreSQL. */
export function serverUrl(): string {
  const url = process.env.BELAY_TEST_DATABASE_URL;
  if (!url) throw new Error('BELAY_TEST_DATABASE_URL is not set: run the tests with `npm test`');
  return url;
}

/** Returns the superuser's URL of a database on that server. */
export function urlOf(database: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Returns the prefix of the names of this run's databases. The run drops them afterwards on a server that outlives it.
 */
export function testDatabases(): string {
  return `belay_test_${process.env.BELAY_TEST_RUN ?? 'alone'}_`;
}

/** A clock that can be stopped. */
const clock = `
  create table test_clock (at timestamptz);
  create or replace function app_now() returns timestamptz language sql stable
    as 'select coalesce((select at from public.test_clock), now())'`;

/**
 * The schema `testkit`, which empties a database for the next test. Rows are deleted, not truncated, because each
 * truncated table makes every connection plan its statements again; only large tables are truncated. A database whose definitions,
 * privileges, settings or statistics were changed cannot be used again, and `empty` returns false. The statements of `empty` are
 * written into it when the template is made, so that a connection plans them once. The connection must have
 * `session_replication_role = replica`; setting it in `empty` would discard those plans.
 */
const emptying = `
  create schema testkit;
  create sequence testkit.definitions_changed;
  create function testkit.note_change() returns event_trigger language plpgsql security definer as $$ begin
    perform nextval('testkit.definitions_changed');
  end $$;
  do $$
  declare
    name name;
    filled boolean;
    emptying text := '';
    filling text := '';
    counting text := '';
  begin
    for name in select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1 loop
      execute format('select exists (select from public.%I)', name) into filled;
      if filled then
        execute format('create table testkit.%I as table public.%1$I', name);
        filling := filling || format('insert into public.%I table testkit.%1$I; ', name);
      end if;
      emptying := emptying || format(
        'size := pg_relation_size(%L::regclass);
        if size > 400000 then truncate public.%I cascade; elsif size > 0 then delete from public.%2$I; end if; ',
        'public.' || quote_ident(name), name);
    end loop;
    for name in select relname from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace
      and relname <> 'migrations_id_seq' loop
      counting := counting || format('perform setval(%L, 1, false); ', 'public.' || quote_ident(name));
    end loop;
    execute format('
      create function testkit.empty() returns boolean language plpgsql as %L', format('
      declare
        size bigint;
      begin
        if (select is_called from testkit.definitions_changed)
          or exists (select from pg_database where datname = current_database() and datacl is not null)
          or exists (select from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
            where datname = current_database())
          or exists (select from pg_class where relkind = ''r'' and relnamespace = ''public''::regnamespace and reltuples > 0
            and to_regclass(format(''testkit.%%I'', relname)) is null)
        then
          return false;
        end if;
        %s %s %s
        return true;
      end', emptying, filling, counting));
  end $$;
  create event trigger definitions_changed on ddl_command_end execute function testkit.note_change()`;

/**
 * Returns the migrated template of this run. Its name contains the digest of the migrations and of what tests add, so
 * that an old template is never used for new migrations.
 */
async function ensureTemplate(admin: postgres.Sql): Promise<string> {
  const migrations = new URL('../../db/drizzle/', import.meta.url);
  const hash = createHash('sha256').update(clock).update(emptying);
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
      await migrateDatabase(urlOf(name), machine);
      const client = postgres(urlOf(name), { max: 1, onnotice: () => {} });
      await client.unsafe(clock);
      await client.unsafe(emptying);
      await client.end();
      await maker.unsafe(`alter database ${name} is_template true`);
    } finally {
      await maker.end();
    }
  });
  return name;
}

const templates = new Map<string, Promise<string>>();

/** Returns the name of the template, which a process looks up once for each server. */
export function findTemplate(admin: postgres.Sql): Promise<string> {
  const server = serverUrl();
  const found = templates.get(server) ?? ensureTemplate(admin);
  templates.set(server, found);
  found.catch(() => templates.delete(server));
  return found;
}
