import type postgres from 'postgres';
import { refuseWhenAborted, untilAborted } from '../abort.js';
import { Retryable } from '../errors.js';
import type { PostgresConfig } from './config.js';
import { isCollision, isLost, isOutOfRoom, toPortError } from './faults.js';
import { connect } from './options.js';
import { openSpare, type Spare } from './spare.js';

/** Runs statements inside a transaction. */
export type Statements = postgres.TransactionSql;
type Work<T> = (sql: Statements) => Promise<T>;

/** The connections of one provider. Connects at the first call. */
export interface Database {
  /**
   * Runs `work` in one transaction and returns its result; throws only `Retryable` or `Terminal`. When `signal`
   * aborts, the call rejects immediately, and the transaction is rolled back unless its commit has been sent. When the
   * server has no free connection, `work` runs on the connection that `standBy` keeps open.
   */
  transaction<T>(signal: AbortSignal, work: Work<T>, lockMilliseconds?: number): Promise<T>;
  /**
   * Runs `work`, which must change no row, as `transaction` does. When the server has no free connection, `work` runs
   * inside the open transaction of `standBy`, which keeps its locks.
   */
  read<T>(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Runs `work` in a transaction in another database of the same server, over a connection that is closed afterwards. */
  elsewhere<T>(name: string, signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Keeps a connection open whose transaction holds the locks that `warm` takes. */
  standBy(signal: AbortSignal, warm: (sql: Statements) => Promise<unknown>): Promise<void>;
  standDown(): Promise<void>;
  close(): Promise<void>;
}

const graceSeconds = 2;

export function openDatabase(config: PostgresConfig): Database {
  let pool = openPool(config);
  const spare = openSpare(config);
  const retiring = new Set<Promise<void>>();
  let closed = false;

  /** Replaces the pool after an aborted call, whose connection may hang on a dead network, so that new calls do not use it. */
  const replace = (old: postgres.Sql) => {
    if (pool !== old) return;
    pool = openPool(config);
    const ended = old.end({ timeout: graceSeconds }).catch(() => {});
    retiring.add(ended);
    void ended.finally(() => retiring.delete(ended));
  };

  /** Runs `work` on the pool, or on the spare connection when the server has no free connection. */
  async function run<T>(signal: AbortSignal, work: Work<T>, instead: Spare['commit']): Promise<T> {
    refuseWhenAborted(signal);
    const own = pool;
    try {
      return await begin(own, signal, work);
    } catch (error) {
      // A replaced pool loses its connections because it is ended here, which is no sign of a lost server.
      if (pool === own && isLost(error)) spare.doubt();
      if (signal.aborted) replace(own);
      if (signal.aborted || !isOutOfRoom(error) || !spare.isOpen()) throw toPortError(error);
    }
    return instead(signal, work).catch((error: unknown) => {
      throw toPortError(error);
    });
  }

  return {
    transaction: (signal, work, lockMilliseconds) => run(signal, withLockTimeout(work, lockMilliseconds), spare.commit),
    read: (signal, work) => run(signal, work, spare.inside),
    async elsewhere(name, signal, work) {
      refuseWhenAborted(signal);
      const sql = connect(config.url, { database: name, max: 1 });
      try {
        return await begin(sql, signal, work);
      } catch (error) {
        throw toPortError(error);
      } finally {
        await sql.end({ timeout: 0 }).catch(() => {});
      }
    },
    async standBy(signal, warm) {
      // The caller may have got this client before it was replaced, and would open a connection that is never closed.
      if (closed) throw new Retryable('The connections to the database were closed');
      await spare.renew(signal, warm).catch((error: unknown) => {
        throw toPortError(error);
      });
    },
    standDown: () => spare.close(),
    async close() {
      closed = true;
      await Promise.all([pool.end({ timeout: graceSeconds }), spare.close(), ...retiring]);
    },
  };
}

/** Runs `work` in a transaction of `sql`; throws the errors of postgres.js, or `Retryable` when `signal` aborts. */
async function begin<T>(sql: postgres.Sql, signal: AbortSignal, work: Work<T>): Promise<T> {
  const running = sql.begin(async (one) => {
    refuseWhenAborted(signal);
    const result = await work(one);
    // A caller whose call was aborted must not find the change made later, so it is rolled back where that is still
    // possible.
    refuseWhenAborted(signal);
    return { result };
  });
  // The wrapping object keeps postgres.js from treating a list as a list of promises.
  return ((await untilAborted(running, signal)) as { result: T }).result;
}

function withLockTimeout<T>(work: Work<T>, milliseconds: number | undefined): Work<T> {
  if (milliseconds === undefined) return work;
  return async (sql) => {
    await sql`select pg_catalog.set_config('lock_timeout', ${String(milliseconds)}, true)`;
    return work(sql);
  };
}

/** Waits for a time; throws `Retryable` when `signal` aborts. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await untilAborted(new Promise<void>((done) => setTimeout(done, milliseconds)), signal);
}

function openPool(config: PostgresConfig): postgres.Sql {
  return connect(config.url, { max: config.max_connections, idle_timeout: 60 });
}

/** How often one call runs a transaction that collides each time, before the caller gets the error. */
const mostAttempts = 40;

/**
 * Repeats a transaction while it collides with another one about the same membership. Belay takes no lock of its own in
 * the target to prevent collisions, because the holder could take the same lock.
 */
export async function untilSettled<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!isCollision(error) || attempt === mostAttempts) throw error;
      await pause(Math.min(5 * attempt, 100), signal);
    }
  }
}
