import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';

/**
 * Applies the patches of this folder after an install and before a build. A package to which an older version of its patch was
 * applied is installed again, because patch-package can neither apply a patch on top of another nor revert that one.
 */
const run = (...command) =>
  spawnSync(command.join(' '), { shell: true, stdio: ['ignore', 'ignore', 'inherit'] }).status;

if (run('patch-package', '--error-on-fail', '2>&1') !== 0) {
  const folder = new URL('.', import.meta.url);
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.patch')) continue;
    const [patched] = name.split('+');
    rmSync(new URL(`../node_modules/${patched}`, folder), { recursive: true, force: true });
  }
  process.exitCode = run('npm', 'install', '--no-audit', '--no-fund') ?? 1;
}
