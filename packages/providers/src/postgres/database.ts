import postgres from 'postgres';
import { refuseWhenAborted, untilAborted } from '../abort.js';
import type { PostgresConfig } from './config.js';
import { toPortError } from './faults.js';

/** What runs statements inside a transaction. */
export type Statements = postgres.TransactionSql;

/** The connections of one provider. Nothing connects before the first call. */
export interface Database {
  /**
   * Runs `work` in one transaction and gives its result; throws `Retryable` or `Terminal` only. When `signal` says
   * stop, the caller is let go at once and the transaction is rolled back unless its commit is on the wire already.
   */
  transaction<T>(signal: AbortSignal, work: (sql: Statements) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Longer than a catalog statement ever takes, and shorter than any quarantine that counts on a call landing (R5). */
const statementMilliseconds = 15_000;
const lockMilliseconds = 5_000;
const graceSeconds = 2;

export function openDatabase(config: PostgresConfig): Database {
  let pool = openPool(config);
  const retiring = new Set<Promise<void>>();

  /** A stopped call may hang on a dead network, and its connection with it: new calls get new connections. */
  const replace = (old: postgres.Sql) => {
    if (pool !== old) return;
    pool = openPool(config);
    const ended = old.end({ timeout: graceSeconds }).catch(() => {});
    retiring.add(ended);
    void ended.finally(() => retiring.delete(ended));
  };

  return {
    async transaction(signal, work) {
      refuseWhenAborted(signal);
      const own = pool;
      const running = own.begin(async (sql) => {
        refuseWhenAborted(signal);
        const result = await work(sql);
        // A caller who was let go must not find the change made later, so it is undone where it still can be.
        refuseWhenAborted(signal);
        return { result };
      });
      try {
        // The wrapping object keeps postgres.js from treating a list as a list of promises.
        return ((await untilAborted(running, signal)) as { result: Awaited<ReturnType<typeof work>> }).result;
      } catch (error) {
        if (signal.aborted) replace(own);
        throw toPortError(error);
      }
    },
    async close() {
      await Promise.all([pool.end({ timeout: graceSeconds }), ...retiring]);
    },
  };
}

function openPool(config: PostgresConfig): postgres.Sql {
  return postgres(config.url, {
    max: config.max_connections,
    // A pooler between us and the server may give each transaction another connection, which named statements break.
    prepare: false,
    // Only text, numbers and booleans cross here, so the round trip that reads array types buys nothing.
    fetch_types: false,
    connect_timeout: 10,
    idle_timeout: 60,
    onnotice: () => {},
    connection: {
      application_name: 'belay',
      statement_timeout: statementMilliseconds,
      lock_timeout: lockMilliseconds,
      idle_in_transaction_session_timeout: statementMilliseconds,
    },
  });
}
