import type postgres from 'postgres';
import { refuseWhenAborted, untilAborted } from '../abort.js';
import { Retryable } from '../errors.js';
import { createPlaces } from '../turns.js';
import type { PostgresConfig } from './config.js';
import { isLost } from './faults.js';
import { connect } from './options.js';

/**
 * How long the connection may take to respond to a check, in milliseconds: its transaction is idle, so it responds
 * immediately.
 */
const answerMilliseconds = 3_000;
/** The same after another connection to the server was lost: a call has already waited for that connection. */
const doubtedMilliseconds = 1_000;

type Statements = postgres.TransactionSql;
type Work<T> = (sql: Statements) => Promise<T>;

/**
 * Keeps one connection open while access is held at the target, in a transaction with locks on the catalogs that are
 * read to end sessions. So the holder's sessions can be ended even when the server has no free connection or lock. The
 * transaction has no snapshot between statements, so it does not block the cleanup of rows.
 */
export interface Spare {
  isOpen(): boolean;
  /**
   * Opens the connection, or runs `warm` on it again; `warm` takes the locks to keep. A connection that responds stays open when
   * `warm` fails on it, because the holder could take its place.
   */
  renew(signal: AbortSignal, warm: Work<unknown>): Promise<void>;
  /** Runs `work` in the open transaction. */
  inside<T>(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Runs `work` in the open transaction, commits it, and starts the next; the locks stay when `work` fails. */
  commit<T>(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Closes the connection. Until the next `renew`, calls do not open it again. */
  close(): Promise<void>;
  /** Notes that another connection to the server was lost, so that the next `renew` waits less for this one. */
  doubt(): void;
}

interface Kept {
  sql: Statements;
  /** Commits the transaction, and throws when that fails. */
  end(): Promise<void>;
}

export function openSpare(config: PostgresConfig): Spare {
  let doubted = false;
  let connection: postgres.Sql | undefined;
  let kept: Kept | undefined;
  let warming: Work<unknown> | undefined;
  const places = createPlaces(1);

  const open = () =>
    // The driver closes the connection neither for being idle nor for its age.
    connect(config.url, { max: 1, idle_timeout: 0, max_lifetime: null });

  const drop = async () => {
    const old = connection;
    connection = undefined;
    kept = undefined;
    await old?.end({ timeout: 0 }).catch(() => {});
  };

  /** Drops a connection that was lost, and throws the error again. */
  const dropLost = async (error: unknown): Promise<never> => {
    if (isLost(error)) await drop();
    throw error;
  };

  const keep = async (): Promise<Kept> => {
    const warm = warming;
    if (!warm) throw new Retryable('The spare connection to the database is closed');
    connection ??= open();
    const own = connection;
    const now = await new Promise<Kept>((done, fail) => {
      let end: () => void = () => {};
      const until = new Promise<void>((resolve) => {
        end = resolve;
      });
      const running = own.begin(async (sql) => {
        // In the transaction itself, which a pooler keeps on one session of the server: it is meant to stay idle.
        await sql`select pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true)`;
        await warm(sql);
        done({
          sql,
          end: async () => {
            end();
            await running;
          },
        });
        await until;
      });
      running.catch((error: unknown) => {
        // A kept connection was lost. It is not opened again by the same client: the driver pauses before it connects again, and
        // would connect even when it is ended in that pause.
        if (connection === own && kept) void drop();
        fail(error);
      });
    });
    if (connection !== own) throw new Retryable('The spare connection to the database was closed');
    kept = now;
    return now;
  };

  /**
   * Runs one call at a time, because there is one connection. A call that is aborted while it runs drops the connection, which may
   * hang on a dead network; the next `renew` opens another. A call that is aborted while it waits leaves the connection to the others.
   */
  const inTurn = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    places.take(signal, async () => {
      refuseWhenAborted(signal);
      try {
        return await untilAborted(work(), signal);
      } catch (error) {
        if (signal.aborted) void drop();
        throw error;
      }
    });

  return {
    isOpen: () => kept !== undefined,
    renew: (signal, warm) =>
      inTurn(signal, async () => {
        warming = warm;
        try {
          // Grants wait for this check, so a lost connection must not delay them by the whole `silence_timeout`.
          const limit = doubted ? doubtedMilliseconds : answerMilliseconds;
          doubted = false;
          const silent = kept && !(await answers(kept.sql, limit));
          refuseWhenAborted(signal);
          if (silent) await drop();
          refuseWhenAborted(signal);
          if (kept) await inSavepoint(kept.sql, warm);
          else await keep();
        } catch (error) {
          // After an abort the connection was dropped already, and there may be another one.
          if (!signal.aborted && !kept) await drop();
          throw error;
        }
      }),
    inside: (signal, work) =>
      inTurn(signal, async () => {
        const { sql } = kept ?? (await keep());
        return inSavepoint(sql, work);
      }),
    commit: (signal, work) =>
      inTurn(signal, async () => {
        const now = kept ?? (await keep());
        const result = await inSavepoint(now.sql, work);
        refuseWhenAborted(signal);
        kept = undefined;
        await now.end().catch(dropLost);
        if (!signal.aborted)
          await keep()
            .catch(dropLost)
            .catch(() => {});
        return result;
      }),
    close: () =>
      inTurn(new AbortController().signal, async () => {
        const now = kept;
        kept = undefined;
        warming = undefined;
        await now?.end().catch(() => {});
        await drop();
      }),
    doubt() {
      doubted = true;
    },
  };
}

/**
 * Returns the result of work in the open transaction. A statement of it that fails ends neither the transaction nor the locks. The
 * driver releases no savepoint of its own, so without the outer one each call would nest the transaction deeper.
 */
async function inSavepoint<T>(sql: Statements, work: Work<T>): Promise<T> {
  await sql`savepoint turn`;
  const outcome = await sql
    .savepoint(async (one) => ({ result: await work(one) }))
    .catch(async (error: unknown) => {
      await sql`release savepoint turn`.catch(() => {});
      throw error;
    });
  await sql`release savepoint turn`;
  return outcome.result;
}

/** Returns whether the connection responds in time, and without an error. */
async function answers(sql: Statements, milliseconds: number): Promise<boolean> {
  const asked = sql`select 1`.then(
    () => true,
    () => false,
  );
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
