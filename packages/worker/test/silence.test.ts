import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { hasRedis, startRedis } from '../../../chaos/src/stage/redis.js';
import { openQueueBackend } from '../src/open-backend.js';
import { startWorker } from '../src/start.js';
import { createWaker } from '../src/waker.js';
import { recordLog, recordVerbs, stepJob, testContext } from './support/context.js';
import { createDatabase } from './support/transports.js';

const targets = [
  {
    kind: 'PostgreSQL',
    async start() {
      const { url, drop } = await createDatabase();
      return { url, options: (through: string) => ({ databaseUrl: through }), stop: drop };
    },
  },
  ...(hasRedis()
    ? [
        {
          kind: 'Redis',
          async start() {
            const { port, stop } = await startRedis();
            const url = new URL(`redis://127.0.0.1:${port}`);
            return { url, options: (through: string) => ({ redisUrl: through, databaseUrl: '' }), stop };
          },
        },
      ]
    : []),
];

describe.each(targets)('a queue on $kind whose connections go silent', ({ start }) => {
  let target: Awaited<ReturnType<typeof start>>;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    target = await start();
    proxy = await startFaultyProxy({ host: target.url.hostname, port: Number(target.url.port) });
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await target.stop();
  });

  it('reports it within ten seconds, and carries jobs again on new connections', async () => {
    const url = new URL(target.url);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    const log = recordLog();
    const backend = await openQueueBackend({ ...target.options(url.href), log });
    await expect.poll(() => backend.check(), { timeout: 30_000 }).toBe('healthy');
    const verbs = recordVerbs();
    const worker = await startWorker({ context: testContext(log), backend, verbs });
    const waker = createWaker(backend, log, { now: Date.now });
    const carried = async () => {
      const { length } = verbs.calls;
      waker.wake([stepJob()]);
      await expect.poll(() => verbs.calls.length, { timeout: 30_000 }).toBeGreaterThan(length);
    };
    await carried();
    proxy.swallow(true);
    const began = performance.now();
    expect(await backend.check()).toMatch(/not reachable|does not respond/);
    expect(performance.now() - began).toBeLessThan(10_000);
    proxy.swallow(false);
    // A connection that only listens is replaced after its next check fails.
    await expect
      .poll(
        () =>
          carried().then(
            () => 'carried',
            () => 'not yet',
          ),
        { timeout: 45_000 },
      )
      .toBe('carried');
    await carried();
    // The failure of a connection that was idle in the meantime is noticed at its first use.
    await expect.poll(() => backend.check(), { timeout: 30_000 }).toBe('healthy');
    await waker.close();
    await worker.stop();
    await backend.close();
  });
});
