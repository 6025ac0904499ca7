import type { DatabaseClient } from '@belay/db';
import type postgres from 'postgres';
import { borrowDatabase } from './database-pool.js';

export { createEmptyDatabase, type EmptyDatabase } from './empty-database.js';
export { serverUrl } from './template.js';

export interface TestDatabase extends DatabaseClient, AsyncDisposable {
  url: string;
  /** Runs SQL as the superuser of this database. */
  sql: postgres.Sql;
  /** Stops the database's clock at a time; every process that uses it sees that time. */
  setTime(at: Date | string): Promise<void>;
  /** Moves the stopped clock on. */
  advance(milliseconds: number): Promise<void>;
}

export interface TestDatabaseOptions {
  /** The maximum number of connections of its client. */
  max?: number;
  /** True for a database and connections that no test has used before: for tests of plans, statistics and sizes. */
  fresh?: boolean;
}

/**
 * Returns a migrated, empty database with a clock that can be stopped. Disposing empties it for the next test of this
 * process, or drops it when it cannot be emptied.
 */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { db, sql, url, waited, close, giveBack } = await borrowDatabase(options);
  return {
    db,
    sql,
    url,
    waited,
    close,
    async setTime(at) {
      const time = new Date(at).toISOString();
      await sql`with before as (delete from test_clock) insert into test_clock (at) values (${time})`;
    },
    async advance(milliseconds) {
      await sql`update test_clock set at = at + ${`${milliseconds} milliseconds`}::interval`;
    },
    [Symbol.asyncDispose]: giveBack,
  };
}
