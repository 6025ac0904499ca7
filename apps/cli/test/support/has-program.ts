import { spawnSync } from 'node:child_process';

/**
 * Returns whether a program that only a test needs is installed. Without it, the test is skipped with a warning, because Belay itself does
 * not need it. In CI the result is true by default, so that a missing program fails the test.
 */
export function hasProgram(name: string, untried: string, always = Boolean(process.env.CI)): boolean {
  if (always || spawnSync(name, ['--version']).error === undefined) return true;
  console.warn(`${name} is not installed here: ${untried}`);
  return false;
}
