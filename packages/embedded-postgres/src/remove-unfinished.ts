import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes what starts that were killed left half made: clusters and copies of programs. Not all of it may go while the
 * initdb of a killed start is still at work there; the next start finds the rest.
 */
export async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home).catch(() => [])) {
    if (/^postgres(-binaries-.+)?\.new-/.test(name)) {
      await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}
