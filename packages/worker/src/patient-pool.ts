import { setTimeout as wait } from 'node:timers/promises';
import type { PgPool, PgPoolClient } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { Outage } from './outage.js';

/** BullMQ's own refusals, such as a lock that another worker holds by now; it knows what to do with them. */
const refusal = 'BM001';

/** How often a connection that listens is asked whether it is still there: it may hear nothing for hours. */
const beat = 5_000;

/**
 * The shared pool as one queue or worker of BullMQ sees it, patient where BullMQ is not:
 * - It remembers for ever when its first look at the schema fails, so that look is repeated until it succeeds.
 * - It takes a server that stops or starts for an error of the job and tries again without any pause, blocking the whole
 *   process; a refused connection is the one error that it waits after, so every other one gets that code.
 * Nothing is repeated any more once `signal` aborts.
 */
export function patientPool(pool: Pool, outage: Outage, signal: AbortSignal): PgPool {
  let first = true;

  async function query<Row>(text: string, parameters?: readonly unknown[]): Promise<{ rows: Row[] }> {
    try {
      const { rows } = await pool.query(text, parameters === undefined ? undefined : [...parameters]);
      outage.up();
      return { rows };
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === refusal) throw error;
      outage.down(error);
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

  /** Reports a connection that listens as broken when it does not answer; BullMQ then makes another. */
  async function watchOver(client: PoolClient): Promise<void> {
    try {
      for (;;) {
        await wait(beat, undefined, { signal, ref: false });
        await client.query('select 1');
      }
    } catch (error) {
      // Without a listener BullMQ has given it back, or closes.
      if (!signal.aborted && client.listenerCount('error') > 0) client.emit('error', error);
    }
  }

  /** Stands in for a connection of its own during that first look, which needs none. */
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
    // Closing the pool and hearing its errors are left to whoever opened it.
    end: async () => {},
    on: () => patient,
    removeAllListeners: () => patient,
  };
  return patient;
}

/** The same connection, whose statements wait for each other: pg warns of one that is sent while another is under way. */
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
