import { execFile } from 'node:child_process';
import { access, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Older {
  /** The program that performs elevations with the packages of that revision. */
  program: string;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The module that measures; it replaces that of the older revision, which opens Belay with its own code. */
const measure = 'compare/serve.js';
/** The first revision that can be measured, because it added the program. */
const oldest = 'eef6abb';

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
 * Builds an older revision of this repository in a worktree of its own, with the packages of its lock file, and replaces the module
 * that measures with the present one. Throws when the revision is unknown, does not build, or is older than `compare`.
 */
export async function buildOlder(revision: string): Promise<Older> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-before-'));
  const git = (...words: string[]) => run('git', ['-C', root, ...words]);
  const remove = async () => {
    await git('worktree', 'remove', '--force', folder).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await git('worktree', 'add', '--detach', folder, revision);
    const program = join(folder, 'bench/dist/contenders/belay.js');
    await access(join(folder, 'bench/src/contenders/belay.ts')).catch(() => {
      throw new Error(`${revision} is older than ${oldest}, the first revision that can be compared`);
    });
    // Not `npm ci`: the lock file has the optional packages of one platform only, which that command rejects.
    await npm(folder, 'install', '--no-audit', '--no-fund');
    await npm(folder, 'run', 'build');
    await cp(fileURLToPath(new URL(`../${measure}`, import.meta.url)), join(folder, 'bench/dist', measure));
    return { program, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
