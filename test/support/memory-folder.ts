import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const WANTED_BYTES = 4 * 1024 ** 3;

/**
 * Returns a folder in the machine's memory for everything that the run writes, or nothing where there is none that is large and
 * runs programs (containers have it small and closed to them). Hundreds of databases and clusters are made of a thousand
 * files each, which a disk takes five times as long for.
 */
export function makeMemoryFolder(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < WANTED_BYTES) return undefined;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(MEMORY, 'belay-tests-'));
    // As the system's own is: other accounts pass through it and make folders in it.
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
