import { findTestPort } from '@belay/testkit/ports';

/** Returns an address at which no program listens. */
export async function findClosedPort(): Promise<string> {
  return `http://127.0.0.1:${await findTestPort()}`;
}
