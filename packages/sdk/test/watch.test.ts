import { initTRPC, TRPCError, tracked } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import { describe, expect, it, vi } from 'vitest';
import { createClient, isBelayError } from '../src/index.js';
import { stopClock, transportBy } from './support/clock.js';
import { listen } from './support/listen.js';

type Next = { after: number; signal: AbortSignal | undefined };
const event = (seq: number, status = 'running') => ({
  seq,
  event_type: `e${seq}`,
  timestamp: 't',
  message: 'm',
  status,
});
const retry = { firstDelay: 1, longestDelay: 10, streamAttempts: 4 };

/** A real tRPC server whose only subscription is the given generator: the same protocol as the service's. */
function serving(source: (next: Next) => AsyncGenerator<ReturnType<typeof event>>) {
  const { router, procedure } = initTRPC.create();
  const seen: { authorization: string | undefined; after: number }[] = [];
  let authorization: string | undefined;
  const watch = procedure
    .input((value) => value as { id: string; lastEventId?: string })
    .subscription(async function* ({ input, signal }) {
      const after = Number(input.lastEventId ?? 0);
      seen.push({ authorization, after });
      for await (const item of source({ after, signal })) yield tracked(String(item.seq), item);
    });
  const handle = createHTTPHandler({ router: router({ executions: router({ watch }) }), basePath: '/trpc/' });
  return {
    seen,
    handler: ((request, response) => {
      authorization = request.headers.authorization;
      handle(request, response);
    }) as typeof handle,
  };
}

async function collect(stream: AsyncIterable<{ seq: number }>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of stream) seqs.push(seq);
  return seqs;
}

describe('a watch', () => {
  it('yields every event with the bearer token sent, and ends when the server says so', async () => {
    const { handler, seen } = serving(async function* () {
      yield event(1);
      yield event(2, 'completed');
    });
    await using server = await listen(handler);
    const client = createClient({ url: server.url, token: 'tok' });
    expect(await collect(client.executions.watch('x'))).toEqual([1, 2]);
    expect(seen).toEqual([{ authorization: 'Bearer tok', after: 0 }]);
  });

  it('ends when it is not connected in time: a server that says nothing, and one that only begins to answer', async () => {
    for (const begin of [false, true]) {
      let connections = 0;
      // The pause before the second connection is over at once.
      const clock = stopClock((milliseconds) => milliseconds > 300 && clock.pass(milliseconds));
      await using server = await listen((_request, response) => {
        connections += 1;
        if (begin) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        clock.pass(300);
      });
      await expect(
        collect(transportBy(clock, server.url).watch('executions.watch', { id: 'x' })),
      ).rejects.toMatchObject({
        code: 'network',
        message: `no response from ${server.url} within 0.3 seconds`,
      });
      expect(connections).toBe(2);
    }
  });

  it('is not ended by that time once it is connected', async () => {
    const clock = stopClock();
    const { handler } = serving(async function* () {
      yield event(1);
      await read;
      yield event(2, 'completed');
    });
    let goOn = () => {};
    const read = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await using server = await listen(handler);
    const stream = transportBy(clock, server.url).watch('executions.watch', { id: 'x' });
    expect((await stream.next()).value).toMatchObject({ seq: 1 });
    clock.pass(300);
    goOn();
    expect(await collect(stream)).toEqual([2]);
  });

  it('resumes after the last event when its connection is cut, without a gap or a repetition', async () => {
    let cut = () => {};
    const { handler, seen } = serving(async function* ({ after }) {
      for (let seq = after + 1; seq <= 6; seq += 1) {
        yield event(seq, seq === 6 ? 'completed' : 'running');
        if (seq === 2 || seq === 4) {
          await new Promise<void>((resolve) => {
            cut = resolve;
          });
        }
      }
    });
    await using server = await listen((request, response) => {
      handler(request, response);
      const write = response.write.bind(response);
      // The connection breaks right after events 2 and 4 were sent.
      response.write = ((chunk: Uint8Array, ...rest: []) => {
        const sent = write(chunk, ...rest);
        if (/id: [24]\n/.test(Buffer.from(chunk).toString())) {
          setImmediate(() => {
            request.socket.destroy();
            cut();
          });
        }
        return sent;
      }) as typeof response.write;
    });
    expect(await collect(createClient({ url: server.url, retry }).executions.watch('x'))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seen.map(({ after }) => after)).toEqual([0, 2, 4]);
  });

  it('never repeats an event that was delivered out of order before its connection broke', async () => {
    let cut = () => {};
    const { handler } = serving(async function* ({ after }) {
      if (after === 0) {
        for (const seq of [1, 3, 4, 2]) yield event(seq);
        await new Promise<void>((resolve) => {
          cut = resolve;
        });
      } else {
        for (let seq = after + 1; seq <= 5; seq += 1) yield event(seq, 'completed');
      }
    });
    await using server = await listen((request, response) => {
      handler(request, response);
      const write = response.write.bind(response);
      response.write = ((chunk: Uint8Array, ...rest: []) => {
        const sent = write(chunk, ...rest);
        if (/id: 2\n/.test(Buffer.from(chunk).toString())) {
          setImmediate(() => {
            request.socket.destroy();
            cut();
          });
        }
        return sent;
      }) as typeof response.write;
    });
    expect(await collect(createClient({ url: server.url, retry }).executions.watch('x'))).toEqual([1, 3, 4, 2, 5]);
  });

  it('outlives a restart of the server on the same port', async () => {
    const { handler } = serving(async function* ({ after, signal }) {
      yield event(after + 1, after === 0 ? 'running' : 'completed');
      if (after === 0) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    });
    const first = await listen(handler);
    const stream = createClient({
      url: first.url,
      retry: { ...retry, firstDelay: 50, longestDelay: 200, streamAttempts: 30 },
    }).executions.watch('x');
    expect((await stream.next()).value).toMatchObject({ seq: 1 });
    const rest = collect(stream);
    await first[Symbol.asyncDispose]();
    await using _second = await listen(handler, first.port);
    expect(await rest).toEqual([2]);
  });

  it('begins after the event it is told', async () => {
    const { handler } = serving(async function* ({ after }) {
      yield event(after + 1, 'completed');
    });
    await using server = await listen(handler);
    expect(await collect(createClient({ url: server.url }).executions.watch('x', { lastEventId: '41' }))).toEqual([42]);
  });

  it.each([
    ['NOT_FOUND', 'not_found'],
    ['UNAUTHORIZED', 'unauthenticated'],
    ['FORBIDDEN', 'forbidden'],
    ['INTERNAL_SERVER_ERROR', 'internal'],
  ] as const)('that is rejected with %s throws %s and does not come back', async (code, expected) => {
    // biome-ignore lint/correctness/useYield: rejecting is all that it does
    const { handler, seen } = serving(async function* () {
      throw new TRPCError({ code, message: 'no' });
    });
    await using server = await listen(handler);
    const watching = collect(createClient({ url: server.url, retry }).executions.watch('x'));
    await expect(watching).rejects.toSatisfy((error) => isBelayError(error, expected));
    expect(seen).toHaveLength(1);
  });

  it('that an HTTP answer rejects throws what the answer says', async () => {
    await using server = await listen((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"sign in first"}');
    });
    const watching = collect(createClient({ url: server.url, retry }).executions.watch('x'));
    await expect(watching).rejects.toMatchObject({ code: 'unauthenticated', message: 'sign in first' });
  });

  it('gives up on a server that stays away', async () => {
    let tries = 0;
    await using server = await listen((_request, response) => {
      tries += 1;
      response.destroy();
    });
    const watching = collect(createClient({ url: server.url, retry }).executions.watch('x'));
    await expect(watching).rejects.toMatchObject({ code: 'network' });
    expect(tries).toBe(retry.streamAttempts);
  });

  it('throws `aborted` when its signal is, and lets the server go', async () => {
    let closed = false;
    const { handler } = serving(async function* ({ signal }) {
      yield event(1);
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      closed = true;
    });
    await using server = await listen(handler);
    const abort = new AbortController();
    const stream = createClient({ url: server.url }).executions.watch('x', { signal: abort.signal });
    await stream.next();
    const waiting = stream.next();
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await vi.waitFor(() => expect(closed).toBe(true), 30_000);
  });

  it('lets the server go when the loop is left', async () => {
    let closed = false;
    const { handler } = serving(async function* ({ signal }) {
      signal?.addEventListener('abort', () => {
        closed = true;
      });
      yield event(1);
      yield event(2);
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    });
    await using server = await listen(handler);
    for await (const { seq } of createClient({ url: server.url }).executions.watch('x')) if (seq === 2) break;
    await vi.waitFor(() => expect(closed).toBe(true), 30_000);
  });
});
