import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const WANTED_BYTES = 4 * 1024 ** 3;

/**
 * Returns a folder in the machine's memory for everything that the run writes. Undefined when /dev/shm is missing, is too small, or
 * cannot run programs, as in most containers. Hundreds of databases and clusters have a thousand files each, which take five times as
 * long on a disk.
 */
export function makeMemoryFolder(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < WANTED_BYTES) return undefined;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(MEMORY, 'belay-tests-'));
    // The mode of the system's temporary folder, because other accounts create folders in this one.
    chmodSync(folder, 0o1777);
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    execFileSync(program);
    rmSync(program);
    return folder;
  } catch {
    if (folder) rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}
