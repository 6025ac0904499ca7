import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { Outage } from './outage.js';

/** The part of a pool that BullMQ uses. */
export interface PatientPool {
  connect(): Promise<PoolClient>;
  query<Row = never>(text: string, parameters?: readonly unknown[]): Promise<{ rows: Row[] }>;
  end(): Promise<void>;
  on(): this;
  removeAllListeners(): this;
}

/**
 * The shared pool as one user of it sees it, patient where BullMQ is not. BullMQ remembers a failed first connection
 * for ever, so connecting goes on until it works or `signal` aborts; and it takes a server that is stopping or
 * starting for an error of the job, trying again without a pause, so those errors get the code that it waits for.
 */
export function patientPool(pool: Pool, outage: Outage, signal: AbortSignal): PatientPool {
  return {
    async connect() {
      for (;;) {
        try {
          const client = await pool.connect();
          outage.up();
          return client;
        } catch (error) {
          outage.down(error);
          if (signal.aborted) throw error;
          await wait(500, undefined, { signal });
        }
      }
    },
    async query(text, parameters) {
      try {
        const { rows } = await pool.query(text, parameters === undefined ? undefined : [...parameters]);
        outage.up();
        return { rows };
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        outage.down(error);
        throw Object.assign(new Error('the queue database is not reachable', { cause: error }), {
          code: 'ECONNREFUSED',
        });
      }
    },
    // The pool is closed, and its errors are heard, by whoever opened it.
    end: async () => {},
    on() {
      return this;
    },
    removeAllListeners() {
      return this;
    },
  };
}

function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // SQLSTATE classes: 08 connection, 57P0x the server goes or comes, 53300 no place left; the rest are Node's and pg's.
  if (/^(08|57P|53300|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(code)) return true;
  return /connection terminated|timeout exceeded|read timeout|not queryable/i.test(error.message);
}
