import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { makeFolder, startProcess } from './server-process.js';

const counter = fileURLToPath(new URL('count-modules.mjs', import.meta.url));

it('A server without cloud services loads at most 700 modules until it is ready, none of them from node_modules', async () => {
  await using database = await createTestDatabase();
  await using folder = await makeFolder({ 'belay.yaml': 'services: { vault: { provider: local } }\n' });
  const file = join(folder.path, 'modules');
  const environment = {
    DATABASE_URL: database.url,
    BELAY_SECRET: 'a secret for tests that is long enough',
    NODE_OPTIONS: `--import ${counter}`,
    MODULES: file,
  };
  {
    await using server = startProcess(folder.path, environment, 'server');
    await server.says('is ready at');
  }
  const modules = new Set((await readFile(file, 'utf8')).trim().split('\n'));
  expect(modules.size).toBeGreaterThan(1);
  expect(modules.size).toBeLessThanOrEqual(700);
  expect([...modules].filter((url) => url.includes('/node_modules/'))).toEqual([]);
});
