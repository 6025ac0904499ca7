import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder, startNpm } from './server-process.js';

it('npm start passes a SIGTERM on: a process manager that knows npm alone ends the server in order', async () => {
  await using folder = await makeFolder();
  const npm = startNpm(folder.path);
  await npm.says('Database');
  const address = /is ready at (\S+)/.exec(npm.stdout())?.[1] ?? '';
  expect((await fetch(`${address}/health`)).status).toBe(200);
  const postmaster = join(folder.path, '.belay', 'postgres', 'postmaster.pid');
  expect(existsSync(postmaster)).toBe(true);
  // The signal goes to npm alone, and not to its process group.
  npm.process.kill('SIGTERM');
  // Resolves when standard output is closed by every process that has it open.
  await npm.exited;
  await expect(fetch(`${address}/health`)).rejects.toThrow();
  expect(existsSync(postmaster)).toBe(false);
});
