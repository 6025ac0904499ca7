import type { Payload } from './queues.js';

/** A lease of BullMQ's own on a job it handed out; ours are in the database, so its length hardly matters. */
const lockDuration = 60_000;

/**
 * What every BullMQ worker is given. BullMQ never repeats a job: a stalled one fails and is removed, since the sweeper
 * finds its row long before. Lost connections are tried again after a second instead of its fifteen.
 */
export const workerOptions = {
  maxStalledCount: 0,
  lockDuration,
  stalledInterval: lockDuration,
  runRetryDelay: 1_000,
} as const;

/** BullMQ keeps a stream of events per queue that nobody here reads; this keeps it short. */
export const queueOptions = { streams: { events: { maxLen: 100 } } } as const;

/**
 * A hint as a BullMQ job. Never with a `jobId`: an id that is still known, active or finished, would make adding it a
 * silent no-op, and that is a lost wake-up (docs/architecture.md, section 7).
 */
export function bullJob(data: Payload): {
  name: string;
  data: Payload;
  opts: { attempts: 1; removeOnComplete: true; removeOnFail: true };
} {
  return { name: 'hint', data, opts: { attempts: 1, removeOnComplete: true, removeOnFail: true } };
}
