import type { Hint, Lane, Logger, Place } from '@belay/core';
import type { DeadLetters } from './dead-letters.js';
import { openPostgresBackend } from './postgres.js';
import type { Payload, QueueName } from './queues.js';
import { openRedisBackend } from './redis.js';

/** The sending side of one queue. */
export interface HintQueue {
  /** Rejects when the hints could not be sent; the caller forgets them (docs/architecture.md, section 7). */
  add(payloads: readonly Payload[]): Promise<void>;
  close(): Promise<void>;
}

/** The receiving side of one queue. */
export interface HintWorker {
  /** Takes no new job from now on; returns at once. */
  pause(): Promise<void>;
  /** Releases the connections; with `force`, also when jobs are still being handled. */
  close(force: boolean): Promise<void>;
}

/** Handles the data of one job of a queue. Must not reject: what a job was about is in the database, not in the queue. */
export type Process = (data: unknown) => Promise<void>;

/** A worker of this process, for its waker. */
export interface LocalWorker {
  /** Follows a hint that is due now; false when there is no free place for it. */
  take(hint: Hint): boolean;
  /** Follows a hint when it is due. */
  follow(hint: Hint, dueAt: Date): void;
  reserve(lane: Lane): Place | null;
  hand(lane: Lane, work: (inTime: boolean) => Promise<void>): void;
}

/** Where hints travel. Opaque to everything outside this package, apart from `kind`, `check` and `close`. */
export interface QueueBackend {
  kind: 'redis' | 'postgres';
  /** The jobs that came to nothing in this process. */
  deadLetters: DeadLetters;
  /** 'healthy', or what is wrong, without credentials or addresses. */
  check(): Promise<'healthy' | string>;
  close(): Promise<void>;
  /** Sends a command to Redis; rejects when it is away. Absent where there is no Redis. */
  send?(command: readonly string[]): Promise<unknown>;
  openQueue(name: QueueName): HintQueue;
  openWorker(name: QueueName, process: Process, concurrency: number): HintWorker;
  /** Set while a worker runs in this process. */
  local: LocalWorker | null;
}

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
