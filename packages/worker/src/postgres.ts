import type { Logger } from '@belay/core';
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { Client, Pool } from 'pg';
import type { JobQueue, JobWorker, Process, QueueBackend } from './backend.js';
import { countDeadLetters, type DeadLetters } from './dead-letters.js';
import { bullJob, queueOptions, workerOptions } from './jobs.js';
import { type Outage, watchOutage, workerTrouble } from './outage.js';
import { patientPool } from './patient-pool.js';
import type { QueueName } from './queues.js';

/**
 * Up to this many jobs are sent with a statement each: BullMQ's bulk statement creates two temporary tables, even for a
 * few jobs.
 */
const few = 4;

/** How long a worker waits for a notification before it reads by itself, in seconds. */
const drainDelay = 10;

/** BullMQ finds its tables by the search path. */
const inOwnSchema = 'set search_path = bullmq';

/** How long one statement of the queue may run, in milliseconds. */
const statementMilliseconds = 5_000;

/**
 * Opens the transport of jobs over PostgreSQL 15 and newer, in the schema `bullmq` of Belay's own database, with one
 * pool for all. Any number of processes may call it at the same time: BullMQ's migrations run under an advisory lock
 * of the transaction. Rejects when the database is not reachable or the schema cannot be created.
 */
export async function openPostgresBackend(options: {
  url: string;
  workers: number;
  log: Logger;
}): Promise<QueueBackend> {
  const { url, workers, log } = options;
  const deadLetters = countDeadLetters(log);
  const outage = watchOutage(log, 'queue database', () => backend.local?.sweepSoon());
  const pool = new Pool({
    connectionString: url,
    application_name: 'belay-queue',
    // As a statement, because poolers drop settings of a new connection that they do not know. A job may be lost at any
    // time, so its commits need not wait for the disk; rows of Belay's own use another pool.
    onConnect: (client) => client.query(`${inOwnSchema}; set synchronous_commit = off`),
    max: workers + 4,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    // Limits the wait for a place in the pool and for a new connection. A health check waits this long, plus its
    // statement.
    connectionTimeoutMillis: 2_000,
    statement_timeout: statementMilliseconds,
    // Closes a connection on which no response arrives.
    query_timeout: statementMilliseconds + 2_000,
  });
  pool.on('error', outage.down);
  try {
    await migrate(url);
  } catch (error) {
    await pool.end();
    throw new Error('the queue tables could not be prepared in the database', { cause: error });
  }

  const backend: QueueBackend = {
    kind: 'postgres',
    deadLetters,
    local: null,
    isAway: () => outage.reason() !== null,
    async check() {
      try {
        await pool.query('select 1');
        outage.up();
        return 'healthy';
      } catch (error) {
        outage.down(error);
        return `the queue database is not reachable (${outage.reason()})`;
      }
    },
    close: () => pool.end(),
    openQueue: (name) => openQueue(name, pool, outage),
    openWorker: (name, process, concurrency) =>
      openWorker(name, process, { concurrency, pool, outage, log, deadLetters }),
  };
  return backend;
}

/** Prepares the schema on its own connection, because it waits for other processes that migrate. */
async function migrate(url: string): Promise<void> {
  const client = new Client({
    connectionString: url,
    application_name: 'belay-queue',
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  // pg reports a lost connection here as well; without a listener that ends the process.
  let lost: Error | undefined;
  client.on('error', (error) => {
    lost = error;
  });
  try {
    await client.connect();
    await client.query(inOwnSchema);
    await runMigrations(client);
  } catch (error) {
    // pg sets no code for a connection that was lost, or that did not open in time.
    const gone = lost ?? (error instanceof Error && /^(Connection|timeout|Query read timeout)/i.test(error.message));
    throw gone ? Object.assign(error as Error, { code: 'CONNECTION_CLOSED' }) : error;
  } finally {
    await client.end().catch(() => {});
  }
}

function openQueue(name: QueueName, pool: Pool, outage: Outage): JobQueue {
  const closing = new AbortController();
  const connection = patientPool(pool, outage, closing.signal);
  const queue = new Queue(name, { connection, ...queueOptions }, createPostgresBackend);
  queue.on('error', outage.down);
  return {
    async add(payloads) {
      const jobs = payloads.map(bullJob);
      if (jobs.length > few) await queue.addBulk(jobs);
      else await Promise.all(jobs.map((job) => queue.add(job.name, job.data, job.opts)));
    },
    async close() {
      closing.abort();
      await queue.close();
    },
  };
}

function openWorker(
  name: QueueName,
  process: Process,
  parts: { concurrency: number; pool: Pool; outage: Outage; log: Logger; deadLetters: DeadLetters },
): JobWorker {
  const { concurrency, pool, outage, log, deadLetters } = parts;
  const closing = new AbortController();
  const connection = patientPool(pool, outage, closing.signal);
  const worker = new Worker(
    name,
    (job) => process(job.data),
    { connection, concurrency, ...workerOptions, drainDelay },
    createPostgresBackend,
  );
  worker.on('error', workerTrouble(outage.down, log));
  worker.on('failed', () => deadLetters.note(name, 'failed'));
  worker.on('stalled', () => deadLetters.note(name, 'stalled'));
  return {
    pause: () => worker.pause(true),
    close(force) {
      closing.abort();
      return worker.close(force);
    },
  };
}
