import { pauseAfter } from '@belay/contract/back-off';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { createClient } from './connect.js';
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
  /** How long one statement may run; 4.5 seconds when absent. */
  statementMilliseconds?: number;
  /** Hears every statement as it is sent, with its connection's number; for the benchmark. */
  onStatement?: (connection: number, statement: string) => void;
}

/** How long a statement may run. Lists and moves take milliseconds; a request that waits for one ends within 10 s. */
const defaultStatement = 4_500;
/** How much longer an answer may take than its statement. */
const onTheWay = 2_000;
/** How much of the time of a statement it may wait for a place in the pool before it is sent. */
const waitShare = 2 / 3;
/** At least, because a busy machine takes its time also where statements may not. */
const shortestWait = 3_000;
/** How often a quiet pool asks whether its server is there. It answers at once when it is idle. */
const pulse = 1_000;

/**
 * Opens a pool on a database of Belay. Connects lazily; a wrong URL shows at the first query. No statement is waited for
 * longer than its time limit, the way, and the wait for a place: then it rejects with an error that counts as an outage, and
 * its connection is replaced.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): DatabaseClient {
  const statement = options.statementMilliseconds ?? defaultStatement;
  const wait = Math.max(shortestWait, statement * waitShare);
  const client = createClient(url, {
    max: options.max ?? 10,
    silence: statement + onTheWay,
    wait,
    pulse: { every: pulse, answer: wait },
    // Seconds until the next attempt to connect. The driver's own backs off to 20, which delays work after the database is back.
    backoff: (retries) => pauseAfter({ first: 30, last: 1_000 }, retries + 1) / 1_000,
    ...(options.onStatement ? { debug: options.onStatement } : {}),
    connection: {
      application_name: options.applicationName ?? 'belay',
      // A transaction never spans a network call (docs/architecture.md, section 4), so one that idles has lost its client: its locks are in the way of others.
      idle_in_transaction_session_timeout: statement,
      lock_timeout: Math.ceil(statement * 0.8),
      statement_timeout: statement,
      // Names are the schema's own; nothing on the search path can shadow them.
      search_path: 'public',
    },
  });
  return {
    db: drizzle(preparing(client), { schema }),
    close: (timeoutMilliseconds = 5_000) => client.end({ timeout: timeoutMilliseconds / 1000 }),
  };
}
