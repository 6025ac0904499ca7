import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { preparing } from './prepare.js';
import * as schema from './schema/index.js';

export type Schema = typeof schema;
export type Database = PostgresJsDatabase<Schema>;
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];

export interface DatabaseClient {
  db: Database;
  /** Ends the pool; running queries get `timeoutMilliseconds` to finish. */
  close(timeoutMilliseconds?: number): Promise<void>;
}

export interface DatabaseOptions {
  /** How many connections at most. */
  max?: number;
  applicationName?: string;
  /** Hears every statement as it is sent, with its connection's number; for the benchmark. */
  onStatement?: (connection: number, statement: string) => void;
}

/**
 * Opens a pool on a database of Belay. Connects lazily; a wrong URL shows at the first query. Throws when the driver lacks
 * our patch (docs/decisions/0060): without it a lost connection ends the process.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): DatabaseClient {
  if (!('survivesLostConnections' in postgres && postgres.survivesLostConnections === 2)) {
    throw new Error('The driver "postgres" lacks the patch in patches/: run "npm run build"');
  }
  const client = postgres(url, {
    max: options.max ?? 10,
    connect_timeout: 10,
    // Seconds until the next attempt to connect. The driver's own backs off to 20, which delays work after the database is back.
    backoff: (retries) => Math.min(1, 0.03 * 2 ** retries),
    // We use no array types; asking for them costs every new connection a query.
    fetch_types: false,
    onnotice: () => {},
    ...(options.onStatement ? { debug: options.onStatement } : {}),
    connection: {
      application_name: options.applicationName ?? 'belay',
      // A transaction never spans a network call (design §7), so one that idles is a fault; a lock that waits this long is one too.
      idle_in_transaction_session_timeout: 30_000,
      lock_timeout: 15_000,
      statement_timeout: 30_000,
      // Names are the schema's own; nothing on the search path can shadow them.
      search_path: 'public',
    },
  });
  return {
    db: drizzle(preparing(client), { schema }),
    close: (timeoutMilliseconds = 5_000) => client.end({ timeout: timeoutMilliseconds / 1000 }),
  };
}
