import { setTimeout as wait } from 'node:timers/promises';
import type { PgPool, PgPoolClient } from 'bullmq';
import type { Pool } from 'pg';
import type { Outage } from './outage.js';

/** BullMQ's own refusals, such as a lock that another worker holds by now; it knows what to do with them. */
const refusal = 'BM001';

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
      if (!first) return repeat(() => pool.connect());
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
