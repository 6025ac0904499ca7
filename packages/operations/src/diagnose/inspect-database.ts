import { join } from 'node:path';
import { explainUnverified } from '@belay/contract/postgres-tls';
import { createClient, isClosed } from '@belay/db';
import { inspectCluster } from '@belay/embedded-postgres';
import { StartError } from '@belay/program';
import { checkDatabase, explainEmbedded } from '../open-storage.js';

export interface DatabaseInspection {
  /** The major version. */
  version: number;
  /** Whether the user may create the tables that a start creates. */
  mayMigrate: boolean;
  /** Whether a server has already been started with this database. */
  migrated: boolean;
  /** Whether PUBLIC can neither connect to this database nor create objects in its schema `public`. */
  closed: boolean;
  name: string;
  /** Whether the server waits for its disk; without that a crash of its machine loses rows. */
  fsync: boolean;
  /** Why another server could take the place of this one, or undefined. */
  unverified: string | undefined;
}

/** Inspects the database of `DATABASE_URL` without a change. Throws `StartError` with cause and cure when it cannot be used. */
export async function inspectDatabase(url: string): Promise<DatabaseInspection> {
  const { fsync } = await checkDatabase(url);
  const sql = createClient(url, { max: 1, silence: 5_000 });
  try {
    const [row] = await sql<[{ version: number; name: string; may_migrate: boolean; migrated: boolean }]>`
      select current_setting('server_version_num')::int / 10000 as version,
        current_database() as name,
        has_schema_privilege(current_user, 'public', 'CREATE') as may_migrate,
        to_regclass('public.migrations') is not null as migrated`;
    const { version, name, may_migrate: mayMigrate, migrated } = row;
    const unverified = explainUnverified(url);
    return { version, name, mayMigrate, migrated, closed: await isClosed(sql), fsync, unverified };
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/**
 * Returns whether the data folder contains a database of the embedded server. Starts nothing. Throws `StartError` with cause
 * and cure when it contains a database that cannot be used.
 */
export async function hasEmbeddedDatabase(dataDirectory: string): Promise<boolean> {
  try {
    return (await inspectCluster(join(dataDirectory, 'postgres'))) !== undefined;
  } catch (cause) {
    throw new StartError(explainEmbedded(cause), { cause });
  }
}
