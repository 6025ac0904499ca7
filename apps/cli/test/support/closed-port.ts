import { findFreePort } from '@belay/host';

/** Returns an address at which no program listens. */
export async function findClosedPort(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort('127.0.0.1')}`;
}
