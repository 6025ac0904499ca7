import { chmodSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';

export interface TemporaryFolder {
  path: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Returns a folder that is removed at the end of the test, after the server on `<path>/data` is stopped if it still runs. */
export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(realpathSync(parent), 'embedded-postgres-'));
  // The mode of an ordinary folder, so that the account as which root starts the server can pass through.
  chmodSync(path, 0o755);
  return {
    path,
    async [Symbol.asyncDispose]() {
      const cluster = join(path, 'data', 'postgres');
      const pid = postmasterOf(cluster);
      if (pid !== undefined && pid !== process.pid && isAlive(pid)) {
        process.kill(pid, 'SIGQUIT');
        await vi.waitFor(() => {
          if (isAlive(pid)) {
            throw new Error(`server ${pid} still runs`);
          }
        }, 10_000);
      }
      const elsewhere = linkTarget(cluster);
      if (elsewhere?.startsWith('/var/lib/embedded/')) {
        rmSync(dirname(elsewhere), { recursive: true, force: true });
      }
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Returns the process number in a cluster's postmaster.pid. */
export function postmasterOf(cluster: string): number | undefined {
  try {
    return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

/** Returns whether a process runs; false for a dead process that was not reaped yet. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
