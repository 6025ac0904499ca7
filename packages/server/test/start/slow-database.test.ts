import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '@belay/testkit/database';
import { send } from '@belay/testkit/serve';
import { expect, it } from 'vitest';
import { startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { makeFolder, startHere } from './server-process.js';

const cli = fileURLToPath(new URL('../../../../apps/cli/bundle/main.js', import.meta.url));
const run = promisify(execFile);

it('ends a request that waits for a slow database several times within 10 s as 503', async () => {
  await using database = await createTestDatabase();
  const target = new URL(database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.port = String(proxy.port);
  await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
  const environment = { BELAY_SECRET: 'a secret for tests that is long enough', BELAY_WORKER: 'off' };
  await using server = startHere(folder.path, { ...environment, DATABASE_URL: target.href });
  await server.says('Worker');
  const [, address] = /is ready at (\S+)/.exec(server.stdout()) ?? [];
  const create = [cli, 'token', 'create', '--user', 'ada@example.com', '--ttl', 'P1D'];
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...environment, DATABASE_URL: database.url };
  const { stdout } = await run(process.execPath, create, { cwd: folder.path, env });
  const headers = { authorization: `Bearer ${stdout.trim()}`, accept: 'text/html' };

  // Opens the connections that the page needs now, because the time limit for a new connection is shorter (3 seconds).
  expect((await send(`${address}/`, { headers })).status).toBe(200);
  const rounds = proxy.rounds();
  expect((await send(`${address}/`, { headers })).status).toBe(200);
  // Each statement gets its response in time, but together they take longer than the limit.
  expect(proxy.rounds() - rounds).toBeGreaterThan(6);
  proxy.delay(1_200);
  const began = performance.now();
  const answer = await send(`${address}/`, { headers });
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(answer).toMatchObject({
    status: 503,
    headers: { 'retry-after': '5', 'x-request-id': expect.any(String), 'content-type': 'text/html; charset=utf-8' },
  });
  proxy.delay(0);
  await expect.poll(async () => (await send(`${address}/`, { headers })).status, { timeout: 30_000 }).toBe(200);
});
