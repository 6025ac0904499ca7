import { isPortFree } from '@belay/host';

/** Below the ports of `findFreePort`, which servers choose from when they are given none. */
const first = 12_000;
const perWorker = 1_000;
const workers = 8;

/** Two runs on one machine begin at different places. */
let next = process.pid % perWorker;

/**
 * Returns a port of 127.0.0.1 that no program listens on, and that no other test is given: for a test that names an address
 * before it starts a server there, or between two starts. Test files that run at the same time have different ports by the
 * number of their worker.
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
