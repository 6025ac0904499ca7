import { spawnSync } from 'node:child_process';

/**
 * Returns whether a program that only a test needs is on this machine. Belay itself needs none, so without it the test is left out,
 * saying so; CI brings what it can, and there its absence is a failure.
 */
export function hasProgram(name: string, untried: string, always = Boolean(process.env.CI)): boolean {
  if (always || spawnSync(name, ['--version']).error === undefined) return true;
  console.warn(`${name} is not installed here: ${untried}`);
  return false;
}
