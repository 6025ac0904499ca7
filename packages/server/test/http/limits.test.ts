import { publicProcedure, router } from '@belay/api';
import { type Context, timing } from '@belay/core';
import { delay } from '@belay/program';
import { keepLines, send, serve } from '@belay/testkit/serve';
import { openQueueBackend } from '@belay/worker';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { hasRedis, startRedis } from '../../../../chaos/src/stage/redis.js';

const meta = (path: `/${string}`) => ({ openapi: { method: 'GET' as const, path }, rest: { public: true } });
const twoPaths = router({
  auth: router({
    request: publicProcedure
      .meta(meta('/auth/request/{provider}'))
      .input(z.strictObject({ provider: z.string() }))
      .output(z.object({}))
      .query(() => ({})),
  }),
  read: publicProcedure
    .meta(meta('/read'))
    .output(z.object({}))
    .query(() => ({})),
});
const context = {
  newId: () => 'an-id-of-ours',
  program: { version: '0.1.0', revision: 'test', baseUrl: '' },
  timing,
  delay,
} as unknown as Context;

describe('the rate limit', () => {
  it('answers 429 in our error body and says when to come back; sign-in has a stricter one of its own', async () => {
    await using served = await serve({
      context,
      router: twoPaths,
      limits: { requests: 4, authRequests: 2, windowMilliseconds: 30_000 },
    });
    const statuses = async (path: string, times: number) => {
      const found = [];
      for (let index = 0; index < times; index += 1) found.push((await send(`${served.url}/api/v1${path}`)).status);
      return found;
    };
    expect(await statuses('/auth/request/x', 3)).toEqual([200, 200, 429]);
    expect(await statuses('/read', 2)).toEqual([200, 429]);
    const refused = await send(`${served.url}/api/v1/read`);
    expect(refused.headers['retry-after']).toBe('30');
    expect(JSON.parse(refused.body)).toEqual({ message: 'Too many requests', code: 'TOO_MANY_REQUESTS' });
  });

  it('counts the address of the socket: a client cannot name itself another', async () => {
    await using served = await serve({
      context,
      router: twoPaths,
      limits: { requests: 1, windowMilliseconds: 30_000 },
    });
    const from = (address: string) => send(`${served.url}/api/v1/read`, { headers: { 'x-forwarded-for': address } });
    expect([(await from('192.0.2.1')).status, (await from('192.0.2.2')).status]).toEqual([200, 429]);
  });

  it.each([
    ['of every proxy', true, '192.0.2.1', '192.0.2.2, 198.51.100.1'],
    ['of one proxy', 1, '192.0.2.1', '192.0.2.1, 192.0.2.2'],
    ['of a proxy at these addresses', '10.0.0.1, loopback', '192.0.2.1', '192.0.2.1, 192.0.2.2'],
    ['of a proxy in a list', ['127.0.0.0/8'], '192.0.2.1', '192.0.2.1, 192.0.2.2'],
  ])('counts the address that a header names, %s', async (_whose, trustProxy, first, second) => {
    const limits = { requests: 1, windowMilliseconds: 30_000 };
    await using served = await serve({ context, router: twoPaths, limits, trustProxy });
    const statuses = [];
    for (const address of [first, second, first]) {
      const headers = { 'x-forwarded-for': address };
      statuses.push((await send(`${served.url}/api/v1/read`, { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe.skipIf(!hasRedis())('the rate limit of several processes', () => {
  it('is counted in their Redis together, and by each process alone while Redis is silent or gone', async () => {
    const redis = await startRedis();
    const backends = await Promise.all(
      [1, 2].map(() =>
        openQueueBackend({ redisUrl: `redis://127.0.0.1:${redis.port}`, databaseUrl: '', log: keepLines().log }),
      ),
    );
    try {
      const [one, two] = await Promise.all(
        backends.map(async (backend) => {
          await expect.poll(() => backend.check()).toBe('healthy');
          return serve({
            context: { ...context, delay },
            router: twoPaths,
            limits: { requests: 4, windowMilliseconds: 60_000 },
            sendCommand: backend.send,
          });
        }),
      );
      if (one === undefined || two === undefined) throw new Error('two processes');
      await using first = one;
      await using second = two;
      const status = async (served: { url: string }) => (await send(`${served.url}/api/v1/read`)).status;
      const together = [await status(first), await status(second), await status(first), await status(second)];
      expect([...together, await status(first), await status(second)]).toEqual([200, 200, 200, 200, 429, 429]);
      await backends[0]?.send?.(['CLIENT', 'PAUSE', '60000', 'ALL']);
      const started = performance.now();
      // Each process has counted three requests itself.
      expect([await status(first), await status(first)]).toEqual([200, 429]);
      expect(performance.now() - started).toBeLessThan(20_000);
      await redis.kill();
      expect([await status(second), await status(second)]).toEqual([200, 429]);
    } finally {
      await Promise.all(backends.map((backend) => backend.close()));
      await redis.stop();
    }
  });
});
