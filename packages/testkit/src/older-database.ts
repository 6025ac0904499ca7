import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { serverUrl, testDatabases, urlOf } from './template.js';

const migrations = new URL('../../db/drizzle/', import.meta.url);

export interface OlderDatabase extends AsyncDisposable {
  url: string;
  /** Runs SQL as the superuser of this database, on one connection. */
  sql: postgres.Sql;
}

/** Returns a database as it was before the migration whose name contains `tag`. Disposing drops it. */
export async function createOlderDatabase(tag: string): Promise<OlderDatabase> {
  const journal = JSON.parse(readFileSync(new URL('meta/_journal.json', migrations), 'utf8')) as {
    entries: { tag: string; when: number }[];
  };
  const next = journal.entries.findIndex((entry) => entry.tag.includes(tag));
  if (next < 1) throw new Error(`No migration after the first has "${tag}" in its name`);
  const before = journal.entries.slice(0, next);
  const name = `${testDatabases()}${randomBytes(6).toString('hex')}`;
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const url = urlOf(name);
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const dispose = async () => {
    await sql.end();
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.end();
  };
  try {
    await admin.unsafe(`create database ${name}`);
    for (const { tag: file } of before) await sql.unsafe(readFileSync(new URL(`${file}.sql`, migrations), 'utf8'));
    await sql.unsafe('create table migrations (id serial primary key, hash text not null, created_at bigint)');
    await sql`insert into migrations (hash, created_at) values ('before', ${String(before.at(-1)?.when)})`;
    return { url, sql, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
