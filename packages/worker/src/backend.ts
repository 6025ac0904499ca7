import type { Hint, Lane, Place } from '@belay/core';
import type { DeadLetters } from './dead-letters.js';
import type { Payload, QueueName } from './queues.js';

/** The sending side of one queue. */
export interface HintQueue {
  /** Rejects when the hints could not be sent; the caller forgets them (docs/architecture.md, section 7). */
  add(payloads: readonly Payload[]): Promise<void>;
  close(): Promise<void>;
}

/** The receiving side of one queue. */
export interface HintWorker {
  /** Accepts no new job from now on; returns immediately. */
  pause(): Promise<void>;
  /** Releases the connections; with `force`, also when jobs are still being handled. */
  close(force: boolean): Promise<void>;
}

/** Handles the data of one job of a queue. Must not reject: the truth is in the database, not in the queue. */
export type Process = (data: unknown) => Promise<void>;

/** The worker of this process, as its waker uses it. */
export interface LocalWorker {
  /** Follows a hint that is due now; returns false when no place is free. */
  take(hint: Hint): boolean;
  /** Follows a hint when it is due. */
  follow(hint: Hint, dueAt: Date): void;
  reserve(lane: Lane): Place | null;
  hand(lane: Lane, work: (inTime: boolean) => Promise<void>): void;
  /** Looks for what is due, because hints may have been lost. */
  sweepSoon(): void;
}

/** The transport of hints. Opaque outside this package, apart from `kind`, `check` and `close`. */
export interface QueueBackend {
  kind: 'redis' | 'postgres';
  /** The jobs that failed in this process. */
  deadLetters: DeadLetters;
  /** Returns 'healthy', or what is wrong, without credentials or addresses. */
  check(): Promise<'healthy' | string>;
  close(): Promise<void>;
  /** Sends a command to Redis; rejects when Redis is not reachable. Absent without Redis. */
  send?(command: readonly string[]): Promise<unknown>;
  /** Whether hints cannot arrive now, as far as this process knows. */
  isAway(): boolean;
  openQueue(name: QueueName): HintQueue;
  openWorker(name: QueueName, process: Process, concurrency: number): HintWorker;
  /** Set while a worker runs in this process. */
  local: LocalWorker | null;
}
