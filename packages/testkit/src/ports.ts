import { isPortFree } from '@belay/host';

/** Below the ports that `findFreePort` chooses from. */
const first = 12_000;
const perWorker = 1_000;
const workers = 8;

/** Differs by process, so that two runs on one machine rarely choose the same port. */
let next = process.pid % perWorker;

/**
 * Returns a port of 127.0.0.1 that no program listens on, for a test that needs an address before its server starts, or between two
 * starts. Test files of one run that run at the same time choose from different ranges, by the number of their worker.
 */
export async function findTestPort(): Promise<number> {
  const start = first + (Number(process.env.VITEST_POOL_ID ?? 0) % workers) * perWorker;
  for (let tried = 0; tried < perWorker; tried += 1) {
    const port = start + next;
    next = (next + 1) % perWorker;
    if (await isPortFree(port, '127.0.0.1')) return port;
  }
  throw new Error(`No port from ${start} to ${start + perWorker - 1} is free`);
}
