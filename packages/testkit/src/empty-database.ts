import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { serverUrl, testDatabases, urlOf } from './template.js';

export interface EmptyDatabase extends AsyncDisposable {
  url: string;
  /** Runs SQL as the superuser of this database, on one connection. */
  sql: postgres.Sql;
}

/** Returns a database without any table, for tests of migrations. Disposing drops it. */
export async function createEmptyDatabase(): Promise<EmptyDatabase> {
  const name = `${testDatabases()}${randomBytes(6).toString('hex')}`;
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const url = urlOf(name);
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${name}`);
  return {
    url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end();
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}
