import { createClient, type Turn, takeTurn } from '@belay/db';
import { StartError } from '@belay/program';
import type postgres from 'postgres';
import { demoPeople } from './people.js';

const targetDatabase = 'belay_demo_target';
const groupRole = 'reporting_readonly';
const ownerRole = 'belay_demo_owner';
const connectorRole = 'belay_demo_connector';
/** The comment on every role that the demo created: a role with one of its names but without this comment is not the demo's. */
const mark = 'belay demo';
/** The connection limit of each person. */
const personConnections = 10;

export interface TargetOptions {
  /** A database of the server that gets the target, as a user who can create databases and roles. */
  url: string;
  connectorPassword: string;
  /** By the person's subject. */
  passwords: Readonly<Record<string, string>>;
}

export interface DemoTarget {
  /** The connection of the provider `demo-postgres`: not a superuser; it can grant one role and end sessions. */
  connectorUrl: string;
  /** By the person's subject: the person's own connection, which cannot read anything yet. */
  personUrls: Record<string, string>;
}

/** How long one statement may take, in milliseconds: creating a database copies its files. */
const longestStatement = 60_000;

/**
 * Creates the demo's target: a database with a table of sample data, a database role that can read it, a login role for each person, and
 * one for the connector. Repeating it changes only the passwords. Throws `StartError` when the user of `url` lacks the privileges, or when
 * a role with one of these names is not the demo's.
 */
export async function prepareDemoTarget(options: TargetOptions): Promise<DemoTarget> {
  const server = createClient(options.url, { max: 1, silence: longestStatement });
  let turn: Turn | undefined;
  try {
    // Serialises processes that start at the same time.
    turn = await takeTurn(options.url, 'demo_target');
    const facts = await readServer(server);
    await makeRoles(server, facts, options);
    const exists = await server`select from pg_database where datname = ${targetDatabase}`;
    if (exists.length === 0) await server.unsafe(`create database ${targetDatabase}`);
    await fillTarget(withDatabase(options.url, targetDatabase), facts);
  } catch (error) {
    if (error instanceof StartError) throw error;
    if ((error as { code?: string }).code === '42501') {
      throw new StartError(
        'The demo needs a DATABASE_URL whose user may create databases and roles (CREATEDB, CREATEROLE); grant that, or write a belay.yaml',
        { cause: error },
      );
    }
    throw error;
  } finally {
    await server.end({ timeout: 5 });
    await turn?.release();
  }
  const target = withDatabase(options.url, targetDatabase);
  return {
    connectorUrl: withUser(target, connectorRole, options.connectorPassword),
    personUrls: Object.fromEntries(
      demoPeople.map(({ subject, databaseRole }) => [
        subject,
        withUser(target, databaseRole, options.passwords[subject] ?? ''),
      ]),
    ),
  };
}

interface ServerFacts {
  superuser: boolean;
  /** From version 16 on, a membership can exclude the role's privileges, and creating a role does not grant them. */
  modern: boolean;
}

async function readServer(sql: postgres.Sql): Promise<ServerFacts> {
  const [facts] = await sql<[ServerFacts]>`
    select rolsuper as superuser, current_setting('server_version_num')::int >= 160000 as modern
    from pg_roles where rolname = current_user`;
  return facts;
}

async function makeRoles(sql: postgres.Sql, facts: ServerFacts, options: TargetOptions): Promise<void> {
  const logins: [string, string][] = [
    [connectorRole, options.connectorPassword],
    ...demoPeople.map(({ databaseRole, subject }): [string, string] => [
      databaseRole,
      options.passwords[subject] ?? '',
    ]),
  ];
  const wanted = [groupRole, ownerRole, ...logins.map(([name]) => name)];
  const rows = await sql<{ name: string; comment: string | null }[]>`
    select rolname as name, shobj_description(oid, 'pg_authid') as comment from pg_roles where rolname in ${sql(wanted)}`;
  const existing = new Set(rows.map((row) => row.name));
  const foreign = rows.find((row) => row.comment !== mark);
  if (foreign) {
    throw new StartError(
      `The database server already has a role "${foreign.name}" that is not the demo's; use another server, or write a belay.yaml`,
    );
  }
  for (const name of wanted.filter((role) => !existing.has(role))) {
    // The role and its mark are created in one transaction: without the mark, the next start would reject the role as foreign.
    await sql.begin(async (tx) => {
      await tx.unsafe(`create role ${name} nologin`);
      await tx.unsafe(`comment on role ${name} is '${mark}'`);
    });
  }
  // PostgreSQL takes no parameters in a statement that sets a password. The passwords are base64url, which needs no
  // escaping.
  for (const [name, password] of logins) {
    if (!/^[\w-]+$/.test(password)) throw new Error('A password of the demo is not base64url');
    // Belay's own database is on the same server, so people must not use all its connections.
    const limit = name === connectorRole ? -1 : personConnections;
    await sql.unsafe(`alter role ${name} login password '${password}' connection limit ${limit}`);
  }
  const admin = facts.modern ? 'with admin true, inherit false, set false' : 'with admin option';
  await sql.unsafe(`grant ${groupRole} to ${connectorRole} ${admin}`);
  await allowEndingSessions(sql);
}

/** Lets the connector end sessions, which needs pg_signal_backend, or membership in the role that owns the session. */
async function allowEndingSessions(sql: postgres.Sql): Promise<void> {
  try {
    await sql.unsafe(`grant pg_signal_backend to ${connectorRole}`);
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error;
    for (const { databaseRole } of demoPeople) await sql.unsafe(`grant ${databaseRole} to ${connectorRole}`);
  }
}

async function fillTarget(url: string, facts: ServerFacts): Promise<void> {
  const sql = createClient(url, { max: 1, silence: longestStatement });
  try {
    await sql.begin(async (tx) => {
      await tx.unsafe('create schema if not exists reporting');
      await tx.unsafe(`create table if not exists reporting.revenue (
        month date not null, region text not null, amount numeric(12, 2) not null, primary key (month, region))`);
      await tx.unsafe(`
        insert into reporting.revenue (month, region, amount) values
          ('2026-01-01', 'north', 120400.00), ('2026-01-01', 'south', 98200.50), ('2026-01-01', 'west', 143900.25),
          ('2026-02-01', 'north', 131050.75), ('2026-02-01', 'south', 91775.00), ('2026-02-01', 'west', 150310.10)
        on conflict do nothing`);
      await tx.unsafe(`grant usage on schema reporting to ${groupRole}`);
      await tx.unsafe(`grant select on reporting.revenue to ${groupRole}`);
      // Otherwise the table would belong to the user who created it, who is not part of the demo. This is not repeated at each start,
      // because it would wait for every session that reads the table.
      const [owned] = await tx<{ done: boolean }[]>`
        select relowner = ${ownerRole}::regrole as done from pg_class where oid = 'reporting.revenue'::regclass`;
      if (facts.superuser && !owned?.done) {
        await tx.unsafe(`alter table reporting.revenue owner to ${ownerRole}`);
        await tx.unsafe(`alter schema reporting owner to ${ownerRole}`);
      }
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

function withUser(url: string, user: string, password: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed.href;
}
