import { createTestDatabase } from '@belay/testkit/database';
import { expect } from 'vitest';
import { type Loss, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { startRedis } from '../../../../chaos/src/stage/redis.js';
import { makeFolder, startProcess } from './server-process.js';

/** Starts a server with 24 visitors, breaks its connections in each of these ways, and returns what it wrote to stderr. */
export async function loseConnections(queue: 'PostgreSQL' | 'Redis', losses: (Loss | 'swallow')[]): Promise<string> {
  await using database = await createTestDatabase();
  await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
  const through = new URL(database.url);
  await using proxy = await startFaultyProxy({ host: through.hostname, port: Number(through.port) });
  Object.assign(through, { hostname: '127.0.0.1', port: String(proxy.port) });
  const redis = queue === 'Redis' ? await startRedis() : undefined;
  await using hints = await startFaultyProxy({ host: '127.0.0.1', port: redis?.port ?? 1 });
  await using server = startProcess(folder.path, {
    DATABASE_URL: through.href,
    BELAY_SECRET: 'a secret for tests that is long enough',
    NODE_OPTIONS: '--trace-warnings',
    ...(redis && { REDIS_URL: `redis://127.0.0.1:${hints.port}` }),
  });
  await server.says('Database');
  const [, origin] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(server.stdout()) ?? [];
  const over = new AbortController();
  const ask = (path: string) =>
    fetch(`${origin}${path}`, { headers: { authorization: 'Bearer unknown' } })
      .then(async (answer) => ({ status: answer.status, body: await answer.text() }))
      .catch(() => undefined);
  const visit = async (path: string) => {
    while (!over.signal.aborted) await ask(path);
  };
  const ready = async () => (await ask('/ready'))?.status;
  const paths = ['/ready', '/api/v1/health', '/api/v1/executions', '/api/v1/metrics'];
  const visitors = Array.from({ length: 24 }, (_, n) => visit(paths[n % paths.length] ?? '/ready'));
  for (const loss of losses) {
    for (const one of [proxy, hints]) {
      if (loss === 'swallow') one.swallow(true);
      else one.lose(loss);
    }
    // So many visitors from one address reach the rate limit, which is checked first.
    if (loss === 'swallow') await expect.poll(ready, { timeout: 30_000 }).toBeOneOf([503, 429]);
    proxy.swallow(false);
    hints.swallow(false);
    await expect.poll(ready, { timeout: 30_000 }).toBeOneOf([200, 429]);
  }
  over.abort();
  await Promise.all(visitors);
  server.process.kill('SIGTERM');
  await server.exited;
  await redis?.stop();
  return server.stderr();
}
