import { execFile } from 'node:child_process';
import { access, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Older {
  /** The folder of the present benchmark's programs, which run with the packages of that revision. */
  programs: string;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const present = fileURLToPath(new URL('../', import.meta.url));
/** The first revision whose packages the present benchmark can open. */
const oldest = 'e1d42f42';

/** Runs npm in a folder. Throws with the end of what it printed. */
async function npm(cwd: string, ...words: string[]): Promise<void> {
  try {
    await run('npm', words, { cwd, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.trim().split('\n').slice(-10).join('\n');
    throw new Error(`npm ${words.join(' ')} failed in ${cwd}:\n${said}`);
  }
}

/**
 * Builds an older revision of this repository in a worktree of its own, with the packages of its lock file, and puts the present
 * benchmark in the place of its own, so that both are measured by the same programs. With `kept`, the worktree is that folder: it is
 * made when it is missing, and stays. Throws when the revision is unknown, does not build, or is older than the programs can open.
 */
export async function buildOlder(revision: string, kept?: string): Promise<Older> {
  const git = (...words: string[]) => run('git', ['-C', root, ...words]);
  await git('merge-base', '--is-ancestor', oldest, revision).catch(() => {
    throw new Error(`${revision} is not ${oldest} or later: the benchmark cannot open it`);
  });
  const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'belay-before-')) : resolve(kept);
  const programs = join(folder, 'bench/dist');
  const isBuilt = kept !== undefined && (await isThere(programs));
  const remove = async () => {
    if (kept !== undefined) return;
    await git('worktree', 'remove', '--force', folder).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (!isBuilt) {
      await git('worktree', 'add', '--detach', folder, revision);
      // Not `npm ci`: the lock file has the optional packages of one platform only, which that command rejects.
      await npm(folder, 'install', '--no-audit', '--no-fund');
      await npm(folder, 'run', 'build');
    }
    await rm(programs, { recursive: true });
    await cp(present, programs, { recursive: true });
    return { programs, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
