import { setTimeout as wait } from 'node:timers/promises';
import { pauseAfter } from '@belay/contract/back-off';
import type { Logger } from '@belay/core';
import { Queue, Worker } from 'bullmq';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { JobQueue, JobWorker, Process, QueueBackend } from './backend.js';
import { countDeadLetters, type DeadLetters } from './dead-letters.js';
import { bullJob, queueOptions, workerOptions } from './jobs.js';
import { type Outage, watchOutage, workerTrouble } from './outage.js';
import type { QueueName } from './queues.js';

type Client = Redis | Cluster;

/** The pause between two checks of a queue that is not reachable, in milliseconds. */
const lookAgain = 500;

/** How long one command of BullMQ waits for a job, in seconds. */
const drainDelay = 2;

const common: RedisOptions = {
  connectTimeout: 5_000,
  // Retry without limit, at most two seconds apart: without Redis Belay is slower, but still works.
  retryStrategy: (times) => pauseAfter({ first: 100, last: 2_000 }, times),
};

/**
 * Opens the transport of jobs over Redis 7 or Valkey. Never waits for Redis, and never rejects because it is not
 * reachable.
 */
export async function openRedisBackend(options: { url: string; prefix: string; log: Logger }): Promise<QueueBackend> {
  const { prefix, log } = options;
  const urls = options.url.split(',').map((part) => part.trim());
  for (const url of urls) {
    // The URL may hold a password, so it is not part of the message.
    if (!/^rediss?:\/\//.test(url)) throw new Error('the URL of Redis must start with redis:// or rediss://');
  }
  const deadLetters = countDeadLetters(log);
  let closed = false;
  const outage = watchOutage(log, 'Redis', () => {
    backend.local?.sweepSoon();
    if (outage.reason() !== null) void lookUntilBack();
  });
  // A job that cannot be sent now is dropped, so that no queue grows in memory while Redis is not reachable.
  const producer = connect(urls, {
    ...common,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 5_000,
    socketTimeout: 7_000,
  });
  // BullMQ requires that its workers' commands wait for the connection. It blocks for a job for two seconds at a time,
  // so a connection that is silent for longer is lost.
  const consumer = connect(urls, { ...common, maxRetriesPerRequest: null, socketTimeout: 5_000 });
  for (const client of [producer, consumer]) {
    client.on('error', outage.down);
    client.on('ready', () => void look());
    // Jobs that were on their way are lost with a connection, and so are those that are sent until there is another.
    for (const change of ['close', 'ready']) client.on(change, () => backend.local?.sweepSoon());
  }

  const isReady = () => producer.status === 'ready' && consumer.status === 'ready';
  /**
   * Rejects when the queue cannot be written. The key is in the slot of the queue, because other nodes of a cluster do not tell
   * whether its node is reachable. It is a write, because a full server or a replica can still be read.
   */
  const reach = () => producer.set(`${prefix}:reach`, '', 'PX', 1_000);
  async function look(): Promise<void> {
    if (!isReady()) return;
    try {
      await reach();
      outage.up();
    } catch (error) {
      if (!closed) outage.down(error);
    }
  }
  /** Checks the queue repeatedly, because no event reports that one node of a cluster is back. */
  async function lookUntilBack(): Promise<void> {
    while (!closed && outage.reason() !== null) {
      await wait(lookAgain, undefined, { ref: false });
      await look();
    }
  }
  /**
   * Handles a failed command. A command can fail after its node is reachable again, so the node is checked before the
   * failure counts as an outage.
   */
  function suspect(error: unknown): void {
    if (outage.reason() !== null || !isReady()) outage.down(error);
    else {
      backend.local?.sweepSoon();
      void look();
    }
  }

  const backend: QueueBackend = {
    kind: 'redis',
    deadLetters,
    local: null,
    isAway: () => !isReady() || outage.reason() !== null,
    async check() {
      if (producer.status !== 'ready') return `Redis is not reachable (${outage.reason() ?? producer.status})`;
      await reach().catch(outage.down);
      const reason = outage.reason();
      return reason === null ? 'healthy' : `Redis is not reachable (${reason})`;
    },
    async close() {
      closed = true;
      for (const client of [producer, consumer]) {
        // Commands that fail during the close are not an outage; without a listener an error would end the process.
        client.off('error', outage.down);
        client.on('error', () => {});
        client.disconnect();
      }
    },
    send: (command) => send(producer, command),
    openQueue: (name) => openQueue(name, producer, prefix, suspect),
    openWorker: (name, process, concurrency) =>
      openWorker(name, process, {
        concurrency,
        consumer,
        prefix,
        suspect,
        log,
        deadLetters,
        onLoss: () => backend.local?.sweepSoon(),
      }),
  };
  return backend;
}

function connect(urls: string[], options: RedisOptions): Client {
  const [first] = urls;
  if (urls.length === 1 && first !== undefined) return new Redis(first, options);
  const { enableOfflineQueue = true, retryStrategy, ...redisOptions } = options;
  return new Cluster(urls, {
    enableOfflineQueue,
    clusterRetryStrategy: (times) => retryStrategy?.(times) ?? 2_000,
    redisOptions: first?.startsWith('rediss:') ? { ...redisOptions, tls: {} } : redisOptions,
  });
}

async function send(producer: Client, [name = '', ...parts]: readonly string[]): Promise<unknown> {
  if (producer.status !== 'ready') throw new Error('Redis is not reachable');
  // A script must exist on the node that holds the key of its call.
  if (producer instanceof Cluster && name === 'SCRIPT') {
    const replies = await Promise.all(producer.nodes('master').map((node) => node.call(name, ...parts)));
    return replies[0];
  }
  return producer.call(name, ...parts);
}

function openQueue(name: QueueName, producer: Client, prefix: string, suspect: Outage['down']): JobQueue {
  // Created when Redis is reachable for the first time: BullMQ holds commands back until then, and a job must not
  // wait.
  let queue: Queue | null = null;
  return {
    async add(payloads) {
      if (producer.status !== 'ready') throw new Error('Redis is not reachable');
      if (queue === null) {
        queue = new Queue(name, { connection: producer, prefix, ...queueOptions });
        queue.on('error', suspect);
      }
      try {
        await queue.waitUntilReady();
      } catch (error) {
        // BullMQ would remember that its first check of the server failed; the next job gets a new queue that checks
        // again.
        queue = null;
        throw error;
      }
      try {
        await queue.addBulk(payloads.map(bullJob));
      } catch (error) {
        suspect(error);
        throw error;
      }
    },
    async close() {
      await queue?.close();
    },
  };
}

function openWorker(
  name: QueueName,
  process: Process,
  parts: {
    concurrency: number;
    consumer: Client;
    prefix: string;
    suspect: Outage['down'];
    log: Logger;
    deadLetters: DeadLetters;
    onLoss(): void;
  },
): JobWorker {
  const { concurrency, consumer, prefix, suspect, log, deadLetters, onLoss } = parts;
  const worker = new Worker(name, (job) => process(job.data), {
    connection: consumer,
    prefix,
    concurrency,
    ...workerOptions,
    drainDelay,
  });
  worker.on('error', workerTrouble(suspect, log));
  // Jobs are received on a connection of the worker's own, so its loss has to be noticed as well.
  worker.on('ioredis:close', onLoss);
  worker.on('failed', () => deadLetters.note(name, 'failed'));
  worker.on('stalled', () => deadLetters.note(name, 'stalled'));
  return {
    pause: () => worker.pause(true),
    close: (force) => worker.close(force),
  };
}
