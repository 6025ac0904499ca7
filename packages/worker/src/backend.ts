import type { Bulkhead, Job, Place } from '@belay/core';
import type { DeadLetters } from './dead-letters.js';
import type { Payload, QueueName } from './queues.js';

/** The sending side of one queue. */
export interface JobQueue {
  /** Sends jobs. Rejects when they could not be sent; the caller then drops them (docs/architecture.md, section 7). */
  add(payloads: readonly Payload[]): Promise<void>;
  close(): Promise<void>;
}

/** The receiving side of one queue. */
export interface JobWorker {
  /** Accepts no new job from now on; does not wait for running jobs. */
  pause(): Promise<void>;
  /** Releases the connections; with `force`, also when jobs are still being handled. */
  close(force: boolean): Promise<void>;
}

/** Handles the data of one job of a queue. Must not reject, because a job is not repeated by the queue but found in the database. */
export type Process = (data: unknown) => Promise<void>;

/** The worker of this process, as its waker uses it. */
export interface LocalWorker {
  /** Starts a job that is due now; returns false when no place is free. */
  take(job: Job): boolean;
  /** Starts a job when it is due. */
  follow(job: Job, dueAt: Date): void;
  reserve(bulkhead: Bulkhead): Place | null;
  isWanted(bulkhead: Bulkhead): boolean;
  hand(bulkhead: Bulkhead, work: (inTime: boolean) => Promise<void>): void;
  /** Looks for what is due, because jobs may have been lost. */
  sweepSoon(): void;
}

/** The transport of jobs. `isAway`, `openQueue`, `openWorker` and `local` are only used in this package. */
export interface QueueBackend {
  kind: 'redis' | 'postgres';
  /** The jobs that failed in this process. */
  deadLetters: DeadLetters;
  /** Returns 'healthy', or what is wrong, without credentials or addresses. */
  check(): Promise<'healthy' | string>;
  close(): Promise<void>;
  /** Sends a command to Redis; rejects when Redis is not reachable. Absent without Redis. */
  send?(command: readonly string[]): Promise<unknown>;
  /** Returns whether jobs cannot arrive now, as far as this process knows. */
  isAway(): boolean;
  openQueue(name: QueueName): JobQueue;
  openWorker(name: QueueName, process: Process, concurrency: number): JobWorker;
  /** Set while a worker runs in this process. */
  local: LocalWorker | null;
}
