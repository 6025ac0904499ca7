import { pauseAfter } from '@belay/contract/back-off';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Sql } from 'postgres';
import { createClient, limitsOf } from './connect.js';
import * as schema from './schema/index.js';

export type Schema = typeof schema;
export type Database = PostgresJsDatabase<Schema>;
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];

export interface DatabaseClient {
  db: Database;
  /** Returns how long the oldest open statement or transaction has waited, in milliseconds; 0 when none is open. */
  waited(): number;
  /** Closes the pool; running queries get `timeoutMilliseconds` to finish. */
  close(timeoutMilliseconds?: number): Promise<void>;
}

export interface DatabaseOptions {
  /** The maximum number of connections. */
  max?: number;
  applicationName?: string;
  /** How long one statement may run, in milliseconds; 4,500 when absent. */
  statementMilliseconds?: number;
  /** Called with every statement as it is sent, and the number of its connection; for the benchmark. */
  onStatement?: (connection: number, statement: string) => void;
  /** Returns the time in milliseconds, from any start; never steps back. The process's own when absent. */
  now?: () => number;
}

/**
 * How long a statement may run, in milliseconds. Lists and moves take milliseconds. With the time on the way and the wait
 * for a place, one statement costs a request 8.5 s at most, so that its response is at the client within 10 s.
 */
const defaultStatement = 4_500;
/** How much longer than its statement a response may take, in milliseconds. */
const onTheWay = 1_000;
/** The share of a statement's time limit that it may wait for a place in the pool before it is sent. */
const waitShare = 2 / 3;
/** The minimum of that wait, because a busy machine is slow also where the limit of statements is short. */
const shortestWait = 3_000;
/** How often an idle pool checks that its server is reachable, in milliseconds. An idle server responds immediately. */
const pulse = 1_000;

/**
 * Opens a pool on a database of Belay. Connects lazily, so a wrong URL shows at the first query. A statement that gets
 * no place in time, or no response within its time limit and the network time, rejects with an error that counts as an
 * outage. A connection without a response is replaced.
 */
export function openDatabase(url: string, options: DatabaseOptions = {}): DatabaseClient {
  const statement = options.statementMilliseconds ?? defaultStatement;
  const wait = Math.max(shortestWait, statement * waitShare);
  const client = createClient(url, {
    max: options.max ?? 10,
    silence: statement + onTheWay,
    wait,
    pulse: { every: pulse, answer: wait },
    // Seconds until the next attempt to connect. The driver's own pause grows to 20, which delays work after the database is back.
    backoff: (retries) => pauseAfter({ first: 30, last: 1_000 }, retries + 1) / 1_000,
    ...(options.onStatement ? { debug: options.onStatement } : {}),
    connection: { application_name: options.applicationName ?? 'belay', ...lockingLimits(statement) },
  });
  const waits = watchWaits(options.now ?? (() => performance.now()));
  return {
    db: drizzle(preparing(client, waits.add), { schema }),
    waited: waits.oldest,
    close: (timeoutMilliseconds = 5_000) => client.end({ timeout: timeoutMilliseconds / 1000 }),
  };
}

export interface ConnectionInspection {
  /** The version as a number, such as 150004. */
  version: number;
  /** Whether the server waits for the disk at all; without that a crash can lose everything. */
  fsync: boolean;
  /** Whether two connections are the same session, because a pooler in between gives sessions to transactions. */
  shared: boolean;
}

/** Connects twice as `openDatabase` does. Throws the error of a connection, also when its settings are not in force (`SessionFault`). */
export async function inspectConnection(url: string): Promise<ConnectionInspection> {
  const open = () =>
    createClient(url, { max: 1, silence: defaultStatement + onTheWay, connection: lockingLimits(defaultStatement) });
  const [first, second] = [open(), open()];
  const look = async (client: Sql) => {
    const [row] = await client<{ version: number; fsync: boolean; pid: number }[]>`
      select current_setting('server_version_num')::int as version, current_setting('fsync')::bool as fsync,
        pg_backend_pid() as pid`;
    if (!row) throw new Error('the database returned no row');
    return row;
  };
  try {
    const { version, fsync, pid } = await look(first);
    return { version, fsync, shared: (await look(second)).pid === pid };
  } finally {
    await Promise.all([first.end({ timeout: 0 }), second.end({ timeout: 0 })]);
  }
}

/** Returns the limits of the pool, whose statements wait for a lock shorter than they may run. */
function lockingLimits(statement: number) {
  return limitsOf(statement, Math.ceil(statement * 0.8));
}

/** Keeps the times at which statements without a response were sent. */
function watchWaits(now: () => number) {
  // A set keeps the order in which its members were added, so the first one is the oldest.
  const waiting = new Set<{ since: number }>();
  return {
    add(answer: PromiseLike<unknown>): void {
      const wait = { since: now() };
      const end = () => void waiting.delete(wait);
      waiting.add(wait);
      answer.then(end, end);
    },
    oldest(): number {
      const [wait] = waiting;
      return wait === undefined ? 0 : now() - wait.since;
    },
  };
}

/**
 * Returns the client with another `unsafe`, the method with which drizzle sends every statement. It prepares each
 * statement once per connection, so that the server parses and plans a text once and not every time. The texts come
 * from our own queries, so their number is limited. Calls `note` with the response of each statement, and of each
 * transaction as a whole, because the driver itself sends the statement that ends it.
 */
function preparing<T extends Sql>(client: T, note: (answer: PromiseLike<unknown>) => void): T {
  return new Proxy(client, {
    get(target, property, receiver) {
      const value: unknown = Reflect.get(target, property, receiver);
      if (property === 'unsafe') {
        return (text: string, parameters?: never[]) => {
          // Sent immediately: an `await` would send it one turn later, after statements that follow it (`commitWith`).
          const query = target.unsafe(text, parameters, { prepare: true }).execute();
          note(query);
          query.then(undefined, (error: unknown) => attachStatement(error, text));
          return query;
        };
      }
      if (property === 'begin' || property === 'savepoint') {
        return (...given: unknown[]) => {
          const work = given.at(-1) as (inner: Sql) => unknown;
          const call = value as (...values: unknown[]) => PromiseLike<unknown>;
          let thrown: unknown;
          const done = call.call(target, ...given.slice(0, -1), async (inner: Sql) => {
            try {
              return await work(preparing(inner, note));
            } catch (error) {
              thrown = error;
              throw error;
            }
          });
          note(done);
          // An error that the work threw stays unchanged; every other error is one of the database or the connection.
          done.then(undefined, (error: unknown) => error === thrown || attachStatement(error, property));
          return done;
        };
      }
      if (property === 'commit') {
        return () => {
          const done = (value as () => Promise<unknown>).call(target);
          done.catch((error: unknown) => attachStatement(error, property));
          return done;
        };
      }
      return value;
    },
  });
}

/**
 * Attaches a statement to an error that has none, such as the error of a connection that failed between two statements. The
 * statement distinguishes an error of our database from the errors of other systems.
 */
function attachStatement(error: unknown, query: string): void {
  if (error instanceof Error && !('query' in error)) {
    Object.defineProperties(error, { query: { value: query }, parameters: { value: [] } });
  }
}
