import { openSync, readSync } from 'node:fs';

/**
 * Returns a clock of the processor time that this thread has had, in milliseconds. Linux says it for every thread;
 * elsewhere it is that of the whole process, which is more.
 * @returns {() => number}
 */
export function openThreadClock() {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const buffer = Buffer.alloc(100);
    const read = () => {
      const length = readSync(file, buffer, 0, buffer.length, 0);
      // Nanoseconds on a processor, nanoseconds waiting for one, slices.
      return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
    };
    if (read() > 0) return read;
  } catch {
    // Not Linux, or a kernel that does not count.
  }
  return () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
}
