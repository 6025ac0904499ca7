import { publicProcedure, router } from '@belay/api';
import type { Context } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { send, serve } from './support/serve.js';

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
});
