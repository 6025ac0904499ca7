import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  createPool,
  type PoolConnection,
  type RowDataPacket,
} from 'mysql2/promise';
import { refuseWhenAborted, stopped, untilAborted } from '../abort.js';
import { Retryable } from '../errors.js';
import { createPlaces } from '../turns.js';
import { isLoopback, type MysqlConfig, readUrl } from './config.js';
import { isFull, toPortError } from './faults.js';
import { prepareSession } from './session.js';

export type Value = string | number | readonly (string | number)[];

/** Runs statements on one connection. Throws the errors of the driver. */
export interface Statements {
  /** Runs a query with values in place of its question marks; a list stands for several. */
  rows<T>(query: string, values?: readonly Value[]): Promise<T[]>;
  /** Runs a statement whose names are quoted already: the server takes no values in their place. */
  run(statement: string): Promise<void>;
}

export type Work<T> = (sql: Statements) => Promise<T>;

/** The connections of one provider. Connects at the first call. */
export interface Database {
  /**
   * Runs `work` and returns its result; throws only `Retryable` or `Terminal`. There is no transaction: the server commits each
   * change of an account by itself. When the server has no free connection, `work` runs on the one that `standBy` keeps open.
   */
  use<T>(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Keeps a spare connection open, and replaces it when it no longer responds. */
  standBy(signal: AbortSignal): Promise<void>;
  standDown(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The time limit of a statement: longer than a statement about accounts takes, shorter than any quarantine that relies
 * on a call finishing (R5).
 */
const statementMilliseconds = 5_000;
/** How long the spare connection may take to respond to a check, in milliseconds. */
const answerMilliseconds = 3_000;

export function openDatabase(config: MysqlConfig): Database {
  const options = connectionOptions(config);
  const pool = createPool({ ...options, connectionLimit: config.max_connections, idleTimeout: 60_000 });
  let spare: Connection | undefined;
  let closed = false;
  const places = createPlaces(1);

  /**
   * Runs one call at a time, because there is one spare connection. The next call starts only after the statement of an aborted one has
   * ended, and the connection stays open: the holder could take its place.
   */
  const inTurn = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    untilAborted(places.take(signal, work), signal).catch((error: unknown) => {
      throw toPortError(error);
    });

  const drop = () => {
    spare?.destroy();
    spare = undefined;
  };

  async function onPool<T>(signal: AbortSignal, work: Work<T>): Promise<T> {
    const connection: PoolConnection = await connect(() => pool.getConnection());
    if (signal.aborted) {
      connection.release();
      throw stopped(signal);
    }
    // The server may still carry out the last statement.
    const destroy = () => connection.destroy();
    signal.addEventListener('abort', destroy, { once: true });
    try {
      const result = await begin(connection, signal, work);
      connection.release();
      return result;
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', destroy);
    }
  }

  return {
    async use(signal, work) {
      refuseWhenAborted(signal);
      try {
        return await untilAborted(onPool(signal, work), signal);
      } catch (error) {
        if (signal.aborted || !isFull(error)) throw toPortError(error);
        return await inTurn(signal, async () => {
          if (!spare) throw error;
          return begin(spare, signal, work);
        });
      }
    },
    async standBy(signal) {
      refuseWhenAborted(signal);
      // The caller may have got this client before it was replaced, and would open a connection that is never closed.
      if (closed) throw new Retryable('The connections to the database were closed');
      const renew = async () => {
        if (spare && (await answers(spare))) return;
        drop();
        const opened = await connect(() => createConnection(options));
        // Without a listener the end of an idle connection would end the process.
        opened.on('error', () => {});
        // Now, because a default of the server could end it before its first use.
        await prepareSession(opened, statementsOn(opened, signal)).catch((error: unknown) => {
          opened.destroy();
          throw error;
        });
        spare = opened;
      };
      await inTurn(signal, renew);
    },
    standDown: () => inTurn(new AbortController().signal, async () => drop()),
    async close() {
      closed = true;
      await Promise.all([pool.end().catch(() => {}), inTurn(new AbortController().signal, async () => drop())]);
    },
  };
}

/** Opens a connection. Converts errors to errors of the port, except the error of a full server (`isFull`). */
async function connect<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw isFull(error) ? error : toPortError(error, true);
  }
}

/** Runs `work` on a connection. Sends no further statement after `signal` has aborted. */
async function begin<T>(connection: Connection, signal: AbortSignal, work: Work<T>): Promise<T> {
  const sql = statementsOn(connection, signal);
  await prepareSession(connection, sql);
  return work(sql);
}

function statementsOn(connection: Connection, signal: AbortSignal): Statements {
  const query = async (sql: string, values: readonly Value[]) => {
    refuseWhenAborted(signal);
    const [rows] = await inTime(statementMilliseconds, (timeout) =>
      connection.query<RowDataPacket[]>({ sql, timeout, values: [...values] }),
    );
    return rows;
  };
  return {
    rows: async <T>(text: string, values: readonly Value[] = []) => (await query(text, values)) as T[],
    run: async (statement) => void (await query(statement, [])),
  };
}

/** Returns whether a connection responds in time. */
async function answers(connection: Connection): Promise<boolean> {
  return inTime(answerMilliseconds, (timeout) => connection.query({ sql: 'select 1', timeout })).then(
    () => true,
    () => false,
  );
}

/**
 * Limits the time of a statement, in milliseconds. The driver's own limit starts only when the statement is sent, and an earlier one
 * that never ends keeps it from being sent. Throws `Retryable` then.
 */
function inTime<T>(milliseconds: number, run: (timeout: number) => Promise<T>): Promise<T> {
  return untilAborted(run(milliseconds), AbortSignal.timeout(milliseconds)).catch((error: unknown) => {
    throw error instanceof Retryable ? new Retryable('The database did not respond in time', { cause: error }) : error;
  });
}

function connectionOptions(config: MysqlConfig): ConnectionOptions {
  const { schema, ...address } = readUrl(config.url);
  const needsTls = config.ca !== undefined || !(isLoopback(address.host) || config.allow_insecure_connection);
  return {
    ...address,
    database: schema,
    charset: 'utf8mb4_bin',
    connectTimeout: statementMilliseconds,
    enableKeepAlive: true,
    // Connection ids can exceed the integers that a double represents exactly.
    supportBigNumbers: true,
    // Files of this machine are never sent to the server, even when it requests them.
    flags: ['-LOCAL_FILES'],
    ...(needsTls && { ssl: { rejectUnauthorized: true, verifyIdentity: true, ...(config.ca && { ca: config.ca }) } }),
  };
}
