import { randomBytes as cryptoRandomBytes, randomFillSync } from 'node:crypto';
import { setTimeout as timersDelay } from 'node:timers/promises';

// The functions that are not pure. Other code gets them as parameters.

/** Returns random bytes that are fit for secrets. */
export function randomBytes(size: number): Buffer {
  return cryptoRandomBytes(size);
}

/** Resolves after a time in milliseconds, or rejects when the signal aborts. */
export async function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await timersDelay(milliseconds, undefined, { signal });
}

/** Returns the process's own clock. */
export function clock(): Date {
  return new Date();
}

/** Returns the milliseconds since this process started; they never go back. */
export function elapsed(): number {
  return performance.now();
}

/** Returns a random number from 0 to 1, for jitter; not for secrets. */
export function random(): number {
  return Math.random();
}

/** Random bytes for the next ids, read from the system in larger pieces. */
const drawn = Buffer.alloc(4_096);
let used = drawn.length;

function draw(size: number): Buffer {
  if (used + size > drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const bytes = Buffer.from(drawn.subarray(used, used + size));
  used += size;
  return bytes;
}

let lastMillisecond = 0;
let counter = 0;

/**
 * Returns a UUID of version 7 (RFC 9562, 5.7): 48 bits of milliseconds, then a 12-bit counter that keeps the ids of one
 * millisecond in their order, then 62 random bits.
 */
export function newId(): string {
  const bytes = draw(16);
  const now = Math.max(Date.now(), lastMillisecond);
  if (now > lastMillisecond) {
    lastMillisecond = now;
    // The counter begins in the lower half of its range, so that it can be increased.
    counter = bytes.readUInt16BE(6) & 0x7ff;
  } else if (++counter > 0xfff) {
    lastMillisecond++;
    counter = 0;
  }
  bytes.writeUIntBE(lastMillisecond, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The functions of this file that a context needs. */
export const machine = { newId, randomBytes, clock, delay };
