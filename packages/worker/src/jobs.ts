import type { Payload } from './queues.js';

/** The lease of BullMQ on a job, in milliseconds; our own leases are in the database, so its length hardly matters. */
const lockDuration = 60_000;

/**
 * The options of every BullMQ worker. BullMQ never repeats a job: a stalled one fails and is removed, since the
 * sweeper finds its row long before. Lost connections are retried after one second instead of BullMQ's fifteen.
 */
export const workerOptions = {
  maxStalledCount: 0,
  lockDuration,
  stalledInterval: lockDuration,
  runRetryDelay: 1_000,
} as const;

/** Limits the stream of events that BullMQ keeps for each queue, because Belay does not read it. */
export const queueOptions = { streams: { events: { maxLen: 100 } } } as const;

/**
 * Returns a job as a BullMQ job. Never with a `jobId`: BullMQ silently ignores a job whose id it still knows, and
 * that would be a lost wake-up (docs/architecture.md, section 7).
 */
export function bullJob(data: Payload): {
  name: string;
  data: Payload;
  opts: { attempts: 1; removeOnComplete: true; removeOnFail: true };
} {
  return { name: 'job', data, opts: { attempts: 1, removeOnComplete: true, removeOnFail: true } };
}
