import { publicProcedure, router } from '@belay/api';
import { AccessError } from '@belay/contract/errors';
import { type Context, timing } from '@belay/core';
import { delay } from '@belay/program';
import { type Served, send, serve } from '@belay/testkit/serve';
import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from '@trpc/client';
import { tracked } from '@trpc/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

const ended: string[] = [];
const small = router({
  hello: publicProcedure.input(z.strictObject({ name: z.string() })).query(({ input }) => `hello ${input.name}`),
  fail: publicProcedure.query((): string => {
    throw new AccessError('held_outside', 'held by another system', { cause: new Error('hunter2') });
  }),
  break: publicProcedure.query((): string => {
    throw new Error('hunter2');
  }),
  ticks: publicProcedure
    .input(z.object({ name: z.string(), lastEventId: z.string().optional() }))
    .subscription(async function* ({ input, signal }) {
      let seq = Number(input.lastEventId ?? '0');
      try {
        for (; seq < 2; seq += 1) yield tracked(String(seq + 1), { seq: seq + 1 });
        await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
      } finally {
        ended.push(input.name);
      }
    }),
});
const context = {
  newId: () => 'an-id-of-ours',
  program: { version: '0.1.0', revision: 'test', baseUrl: '' },
  timing,
  delay,
} as unknown as Context;

let served: Served;
beforeAll(async () => {
  served = await serve({ context, router: small, limits: { bodyBytes: 1000, batch: 3 } });
});
afterAll(() => served[Symbol.asyncDispose]());

const client = () => createTRPCClient<typeof small>({ links: [httpLink({ url: `${served.url}/trpc` })] });

async function failure(promise: Promise<unknown>): Promise<TRPCClientError<typeof small>> {
  const caught: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (caught instanceof TRPCClientError) return caught as TRPCClientError<typeof small>;
  throw new Error('did not fail');
}

describe('tRPC', () => {
  it('answers a typed client', async () => {
    expect(await client().hello.query({ name: 'Ann' })).toBe('hello Ann');
  });

  it('tells the verb’s own code of an error, its issues, and nothing internal', async () => {
    const held = await failure(client().fail.query());
    expect([held.message, held.data]).toEqual([
      'held by another system',
      { code: 'CONFLICT', httpStatus: 409, reason: 'held_outside' },
    ]);
    const invalid = await failure(client().hello.query({ name: 7 as unknown as string }));
    expect(invalid.data).toMatchObject({ httpStatus: 400, reason: 'invalid', issues: [{ path: 'name' }] });
    const broken = await failure(client().break.query());
    expect(broken.data).toMatchObject({ httpStatus: 500, reason: 'internal' });
    expect(JSON.stringify([held.shape, broken.shape, broken.message])).not.toMatch(/hunter2|stack/);
    expect(served.lines.some(({ level, message }) => level === 'error' && message === 'request failed')).toBe(true);
  });

  it('bounds a batch and a body', async () => {
    const batching = createTRPCClient<typeof small>({ links: [httpBatchLink({ url: `${served.url}/trpc` })] });
    const many = await Promise.allSettled([1, 2, 3, 4].map((each) => batching.hello.query({ name: String(each) })));
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set(['rejected']));
    const large = await send(`${served.url}/trpc/hello`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x'.repeat(2000) }),
    });
    expect(large.status).toBeGreaterThanOrEqual(400);
    expect(large.status).toBeLessThan(500);
  });
});

describe('event streams', () => {
  const open = async (name: string, lastEventId?: string) => {
    const abort = new AbortController();
    const input = encodeURIComponent(JSON.stringify({ name }));
    const response = await fetch(`${served.url}/trpc/ticks?input=${input}`, {
      headers: { accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
      signal: abort.signal,
    });
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    const readUntil = async (wanted: string): Promise<string> => {
      let text = '';
      while (!text.includes(wanted)) {
        const { value, done } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
      return text;
    };
    return { response, readUntil, reader, abort };
  };

  it('carry ids, and go on after the last one a client has', async () => {
    const first = await open('first');
    expect(first.response.headers.get('content-type')).toContain('text/event-stream');
    expect(await first.readUntil('id: 2')).toContain('id: 1');
    first.abort.abort();
    const second = await open('second', '1');
    expect(await second.readUntil('id: 2')).not.toContain('id: 1');
    second.abort.abort();
  });

  it('end in the procedure when the client goes', async () => {
    const stream = await open('leaver');
    await stream.readUntil('id: 2');
    stream.abort.abort();
    await expect.poll(() => ended, { timeout: 30_000 }).toContain('leaver');
  });

  it('end on drain without saying that they are complete, and no new one begins', async () => {
    await using other = await serve({ context, router: small });
    const input = encodeURIComponent(JSON.stringify({ name: 'drained' }));
    const response = await fetch(`${other.url}/trpc/ticks?input=${input}`, {
      headers: { accept: 'text/event-stream' },
    });
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    await reader.read();
    other.drain();
    let text = '';
    const over = (async () => {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        text += new TextDecoder().decode(value);
      }
    })();
    await over.catch(() => undefined);
    expect(text).not.toContain('event: return');
    await expect.poll(() => ended, { timeout: 30_000 }).toContain('drained');
    const refused = await fetch(`${other.url}/trpc/ticks?input=${input}`, { headers: { accept: 'text/event-stream' } });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  });
});
