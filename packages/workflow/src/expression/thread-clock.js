import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A nice value of Linux: on a busy processor the thread gets half as much time as the other threads of the process. */
const LOWER = 3;

/**
 * Returns Linux's id of this thread, or null on other systems.
 * @returns {number | null}
 */
export function threadId() {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return null;
  }
}

/**
 * Lowers the priority of a thread of this process. Only Linux can do so for one thread, rather than the whole process.
 * @param {number | null} thread
 */
export function lowerPriority(thread) {
  if (thread === null) return;
  try {
    setPriority(thread, LOWER);
  } catch {
    // A sandbox can forbid this; the thread then keeps its priority.
  }
}

/**
 * Returns a clock of the processor time that a thread of this process has used, in milliseconds. Where the system does not
 * report this for one thread, the clock is not `exact` and counts the whole process.
 * @param {number | null} thread
 * @returns {ThreadClock}
 * @typedef {(() => number) & { exact: boolean, close(): void }} ThreadClock
 */
export function openThreadClock(thread) {
  const exact = thread === null ? null : openSchedulerClock(thread);
  if (exact) return exact;
  const read = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  return Object.assign(read, { exact: false, close() {} });
}

/** @param {number} thread @returns {ThreadClock | null} */
function openSchedulerClock(thread) {
  try {
    const file = openSync(`/proc/self/task/${thread}/schedstat`, 'r');
    const buffer = Buffer.alloc(100);
    let last = 0;
    let open = true;
    const read = () => {
      try {
        // The file has the nanoseconds on a processor, the nanoseconds of waiting for one, and the number of time
        // slices.
        const length = open ? readSync(file, buffer, 0, buffer.length, 0) : 0;
        if (length > 0) last = Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
      } catch {
        // The thread has ended, so the last value remains true.
      }
      return last;
    };
    const close = () => {
      if (open) closeSync(file);
      open = false;
    };
    if (read() > 0) return Object.assign(read, { exact: true, close });
    close();
  } catch {
    // The kernel does not count this, or does not show it to this process.
  }
  return null;
}
