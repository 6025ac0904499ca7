import type { Logger } from '@belay/core';
import type { QueueBackend } from './backend.js';
import { openPostgresBackend } from './postgres.js';
import { openRedisBackend } from './redis.js';

export interface QueueBackendOptions {
  /** One URL (`redis://` or `rediss://`), or several with commas between them for the nodes of a cluster. */
  redisUrl?: string;
  /** Used when there is no Redis: the same PostgreSQL database as Belay's own tables, in the schema `bullmq`. */
  databaseUrl: string;
  /** In front of every Redis key. The default is a hash tag, so that all keys of a queue share one slot of a cluster. */
  prefix?: string;
  /** How many workers will be started on it (one per queue); each holds a connection of the pool to listen on. */
  workers?: number;
  log: Logger;
}

/**
 * Opens the transport of hints: Redis or Valkey when there is a URL of one, PostgreSQL otherwise.
 * Redis may be down: it is tried again for ever, and meanwhile the sweeper does the work (docs/architecture.md, section 7).
 * PostgreSQL must be there, because nothing of Belay works without it: rejects when the schema cannot be made.
 */
export async function openQueueBackend(options: QueueBackendOptions): Promise<QueueBackend> {
  const { redisUrl, databaseUrl, prefix = '{belay}', workers = 2, log } = options;
  if (redisUrl !== undefined) return openRedisBackend({ url: redisUrl, prefix, log });
  return openPostgresBackend({ url: databaseUrl, workers, log });
}
