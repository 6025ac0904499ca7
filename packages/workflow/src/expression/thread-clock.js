import { closeSync, openSync, readlinkSync, readSync } from 'node:fs';
import { setPriority } from 'node:os';

/** To Linux: half of what the other threads of the process get, when all want the processor. */
const LOWER = 3;

/**
 * Returns what Linux calls this thread, and null elsewhere.
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
 * Lets the other threads of the process go first. Only Linux can do that for one thread; elsewhere it would be all.
 * @param {number | null} thread
 */
export function lowerPriority(thread) {
  if (thread === null) return;
  try {
    setPriority(thread, LOWER);
  } catch {
    // A sandbox that forbids it: the thread competes like any other.
  }
}

/**
 * Returns a clock of the processor time that a thread of this process has had, in milliseconds. Where the system does not
 * say that of a thread, it is the time of the whole process.
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
        // Nanoseconds on a processor, nanoseconds waiting for one, slices.
        const length = open ? readSync(file, buffer, 0, buffer.length, 0) : 0;
        if (length > 0) last = Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
      } catch {
        // The thread is gone: it has had what it had.
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
    // A kernel that does not count, or a file system without it.
  }
  return null;
}
