import type { Logger } from '@belay/core';
import type { QueueBackend } from './backend.js';
import { openPostgresBackend } from './postgres.js';
import { openRedisBackend } from './redis.js';

export interface QueueBackendOptions {
  /** One URL (`redis://` or `rediss://`), or several with commas between them for the nodes of a cluster. */
  redisUrl?: string;
  /** Used without Redis: the same PostgreSQL database as Belay's own tables, in the schema `bullmq`. */
  databaseUrl: string;
  /**
   * The prefix of every Redis key. The default is a hash tag, so that all keys of a queue are in one slot of a
   * cluster.
   */
  prefix?: string;
  /** How many workers will be started (one per queue); each listens on a connection of the PostgreSQL pool. */
  workers?: number;
  log: Logger;
}

/**
 * Opens the transport of jobs: Redis or Valkey when `redisUrl` is set, PostgreSQL otherwise. Redis may be down:
 * connecting is retried without limit, and meanwhile the sweeper finds the work (docs/architecture.md, section 7).
 * PostgreSQL must be reachable, because Belay needs it anyway: rejects when the schema cannot be created, and for a URL
 * of Redis with another scheme.
 */
export async function openQueueBackend(options: QueueBackendOptions): Promise<QueueBackend> {
  const { redisUrl, databaseUrl, prefix = '{belay}', workers = 2, log } = options;
  if (redisUrl !== undefined) return openRedisBackend({ url: redisUrl, prefix, log });
  return openPostgresBackend({ url: databaseUrl, workers, log });
}
