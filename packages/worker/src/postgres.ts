import type { Logger } from '@belay/core';
import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { Pool } from 'pg';
import type { JobQueue, JobWorker, Process, QueueBackend } from './backend.js';
import { countDeadLetters, type DeadLetters } from './dead-letters.js';
import { bullJob, queueOptions, workerOptions } from './jobs.js';
import { type HeldOutage, watchOutage, whileHeld, workerTrouble } from './outage.js';
import { patientPool } from './patient-pool.js';
import { addressOf, prepareSession } from './postgres-client.js';
import { prepareTables, QueueTablesHeld } from './prepare-tables.js';
import type { QueueName } from './queues.js';

/**
 * Up to this many jobs are sent with a statement each: BullMQ's bulk statement creates two temporary tables, even for a
 * few jobs.
 */
const few = 4;

/** How long a worker waits for a notification before it reads by itself, in seconds. */
const drainDelay = 10;

/** How long one statement of the queue may run, and how long it may wait for a lock, in milliseconds. */
const statementMilliseconds = 5_000;
const lockMilliseconds = 3_000;

/** Runs a step of the preparation. An error of it has no address and no password. */
async function prepared<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (cause instanceof QueueTablesHeld) throw cause;
    throw new Error('the queue tables could not be prepared in the database', { cause });
  }
}

/**
 * Opens the transport of jobs over PostgreSQL 15 and newer, in the schema `bullmq` of Belay's own database, with one
 * pool for all. Any number of processes may call it at the same time: BullMQ's migrations run under an advisory lock
 * of the transaction. Rejects when the database is not reachable or the schema cannot be created, and with `QueueTablesHeld`.
 */
export async function openPostgresBackend(options: {
  url: string;
  workers: number;
  log: Logger;
}): Promise<QueueBackend> {
  const { url, workers, log } = options;
  const deadLetters = countDeadLetters(log);
  const outage = whileHeld(watchOutage(log, 'queue database', () => backend.local?.sweepSoon()));
  const address = await prepared(() => addressOf(url));
  await prepared(() => prepareTables(address));
  const pool = new Pool({
    ...address,
    onConnect: (client) =>
      prepareSession(client, {
        statement_timeout: statementMilliseconds,
        lock_timeout: lockMilliseconds,
        idle_in_transaction_session_timeout: statementMilliseconds,
      }),
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
  pool.on('error', (error) => outage.down(error));

  const backend: QueueBackend = {
    kind: 'postgres',
    deadLetters,
    local: null,
    isAway: () => outage.reason() !== null,
    async check() {
      try {
        await pool.query('select 1');
        outage.up();
        return outage.isHeld() ? `other sessions hold the tables of the queue (${outage.reason()})` : 'healthy';
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

function openQueue(name: QueueName, pool: Pool, outage: HeldOutage): JobQueue {
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
  parts: { concurrency: number; pool: Pool; outage: HeldOutage; log: Logger; deadLetters: DeadLetters },
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
