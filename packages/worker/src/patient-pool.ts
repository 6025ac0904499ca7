import { setTimeout as wait } from 'node:timers/promises';
import type { PgPool, PgPoolClient } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { HeldOutage } from './outage.js';

/** The code of errors of BullMQ itself, such as a lock that another worker now holds; BullMQ handles them. */
const refusal = 'BM001';

/** How often a listening connection is checked, in milliseconds: it may receive nothing for hours. */
const beat = 5_000;

/**
 * Returns the shared pool for one queue or worker of BullMQ, with repetitions and pauses that BullMQ lacks:
 * - BullMQ remembers permanently when its first read of the schema fails, so that read is repeated until it succeeds.
 * - BullMQ takes a server that stops or starts for an error of the job and retries without a pause, which blocks the
 *   process. It pauses only after a refused connection, so every error except BullMQ's own gets that code.
 * Nothing is repeated after `signal` aborts.
 */
export function patientPool(pool: Pool, outage: HeldOutage, signal: AbortSignal): PgPool {
  let first = true;

  async function query<Row>(text: string, parameters?: readonly unknown[]): Promise<{ rows: Row[] }> {
    try {
      const { rows } = await pool.query(text, parameters === undefined ? undefined : [...parameters]);
      outage.up(text);
      return { rows };
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === refusal) throw error;
      outage.down(error, text);
      throw Object.assign(new Error('the queue database is not reachable', { cause: error }), { code: 'ECONNREFUSED' });
    }
  }

  async function repeat<Value>(attempt: () => Promise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        outage.down(error);
        if (signal.aborted) throw error;
        await wait(500, undefined, { signal });
      }
    }
  }

  /** Reports a listening connection as broken when it does not respond; BullMQ then opens another. */
  async function watchOver(client: PoolClient): Promise<void> {
    try {
      for (;;) {
        await wait(beat, undefined, { signal, ref: false });
        await client.query('select 1');
      }
    } catch (error) {
      // Without a listener BullMQ has released the connection, or is closing.
      if (!signal.aborted && client.listenerCount('error') > 0) client.emit('error', error);
    }
  }

  /** Used as the connection for BullMQ's first read of the schema, which does not need a connection of its own. */
  const looking: PgPoolClient = {
    query: (text, parameters) => repeat(() => query(text, parameters)),
    release() {},
    on: () => looking,
    removeListener: () => looking,
    removeAllListeners: () => looking,
  };

  const patient: PgPool = {
    query,
    connect() {
      if (!first) {
        return repeat(async () => {
          const client = oneAtATime(await pool.connect());
          void watchOver(client);
          return client;
        });
      }
      first = false;
      return Promise.resolve(looking);
    },
    // The code that opened the pool closes it and handles its errors.
    end: async () => {},
    on: () => patient,
    removeAllListeners: () => patient,
  };
  return patient;
}

/**
 * Returns the connection with its statements one after the other: pg warns about a statement that is sent while
 * another one runs.
 */
function oneAtATime(client: PoolClient): PoolClient {
  const send = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  let last: Promise<unknown> = Promise.resolve();
  const query = (...given: unknown[]) => {
    const mine = last.then(() => send(...given));
    last = mine.catch(() => {});
    return mine;
  };
  return Object.assign(client, { query });
}
