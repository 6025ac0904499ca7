import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { BelayError, createClient, isBelayError } from '../src/index.js';
import { stopClock, transportBy } from './support/clock.js';
import { listen } from './support/listen.js';

interface Answer {
  status: number;
  body?: unknown;
  text?: string;
  headers?: Record<string, string>;
}

const json = { 'content-type': 'application/json' };
const quick = { firstDelay: 1, longestDelay: 20 };

/** Starts a server that sends the given responses one after the other, and then repeats the last one. Records the requests. */
async function scripted(...answers: Answer[]) {
  const requests: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  const server = await listen((request: IncomingMessage, response: ServerResponse) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    response.writeHead(answer?.status ?? 500, { 'content-type': 'application/json', ...answer?.headers });
    response.end(answer?.text ?? JSON.stringify(answer?.body));
  });
  return { ...server, requests, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const ready = { status: 200, body: { result: { data: { status: 'ready', timestamp: 't', version: 'v' } } } };
const started = { status: 200, body: { result: { data: { status: 'pending', output: {} } } } };
const busy = {
  status: 503,
  body: { message: 'not now', code: 'SERVICE_UNAVAILABLE' },
  headers: { 'retry-after': '0' },
};

async function failure(call: Promise<unknown>): Promise<BelayError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof BelayError)) throw new Error(`expected a BelayError, got ${String(error)}`);
  return error;
}

describe('a server that never answers', () => {
  it.each([
    ['takes the connection and says nothing', () => {}],
    ['begins an answer and never ends it', (response: ServerResponse) => void response.writeHead(200, json).write('{')],
  ])('ends a call when its time is over: one that %s', async (_how, answer) => {
    let asked = 0;
    const clock = stopClock();
    await using server = await listen((_request, response) => {
      asked += 1;
      answer(response);
      clock.pass(300);
    });
    const transport = transportBy(clock, server.url);
    const error = await failure(transport.query('system.ready', undefined));
    expect(error).toMatchObject({ code: 'network', status: 0 });
    expect(error.message).toBe(`no response from ${server.url} within 0.3 seconds`);
    const request = { role: 'r', providers: ['p'], reason: 'because' };
    expect(await failure(transport.mutate('elevation.request', request))).toMatchObject({ code: 'network' });
    expect(asked).toBe(2);
  });

  it('does not keep a caller who repeats: the time is for all tries together, and the last failure is told', async () => {
    await using server = await scripted(busy);
    // The time limit of the call ends in the pause after the first attempt.
    const clock = stopClock((milliseconds) => milliseconds > 300 && clock.pass(300));
    const transport = transportBy(clock, server.url);
    expect(await failure(transport.query('system.ready', undefined))).toMatchObject({
      code: 'unavailable',
      message: 'not now',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is told apart from a caller who gives up', async () => {
    await using server = await listen(() => {});
    const client = createClient({ url: server.url, timeout: 60_000 });
    expect(await failure(client.system.ready({ signal: AbortSignal.timeout(50) }))).toMatchObject({ code: 'aborted' });
  });
});

describe('a call', () => {
  it('carries the bearer token and the headers it was given', async () => {
    await using server = await scripted(ready);
    const client = createClient({ url: `${server.url}/prefix/`, token: 'secret-token', headers: { 'x-team': 'blue' } });
    await client.system.ready();
    expect(server.requests[0]).toMatchObject({
      method: 'GET',
      url: '/prefix/trpc/system.ready',
      headers: { authorization: 'Bearer secret-token', 'x-team': 'blue' },
    });
  });

  it('that only reads is tried again while the service is unavailable', async () => {
    await using server = await scripted(busy, busy, ready);
    const client = createClient({ url: server.url, retry: quick });
    expect(await client.system.ready()).toMatchObject({ status: 'ready' });
    expect(server.requests).toHaveLength(3);
  });

  it('stops trying after the stated number of attempts', async () => {
    await using server = await scripted(busy);
    const client = createClient({ url: server.url, retry: { ...quick, attempts: 3 } });
    expect(await failure(client.system.ready())).toMatchObject({
      code: 'unavailable',
      status: 503,
      message: 'not now',
    });
    expect(server.requests).toHaveLength(3);
  });

  it('that changes something is never repeated without an idempotency key', async () => {
    await using server = await scripted(busy, started);
    const client = createClient({ url: server.url, retry: quick });
    const request = { role: 'r', providers: ['p'], reason: 'because' };
    expect(await failure(client.elevation.request(request))).toMatchObject({ code: 'unavailable' });
    expect(server.requests).toHaveLength(1);
  });

  it('that changes something is repeated when it carries an idempotency key', async () => {
    await using server = await scripted(busy, started);
    const client = createClient({ url: server.url, retry: quick });
    await client.elevation.request({ role: 'r', providers: ['p'], reason: 'because', idempotencyKey: 'k-1' });
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k-1', 'k-1']);
  });

  it('that only suggests is tried again, and one that asks without a role is not', async () => {
    await using server = await scripted(busy, started);
    const client = createClient({ url: server.url, retry: quick });
    await client.elevation.suggest({ reason: 'words' });
    expect(server.requests).toHaveLength(2);
    await using other = await scripted(busy, started);
    const careless = createClient({ url: other.url, retry: quick });
    const wish = { providers: ['p'], permissions: ['x'], reason: 'because' };
    expect(await failure(careless.elevation.requestDynamic(wish))).toMatchObject({ code: 'unavailable' });
    expect(other.requests).toHaveLength(1);
  });

  it('to an unhealthy service brings back what the service says of itself', async () => {
    await using server = await scripted({ status: 503, body: { result: { data: { status: 'unhealthy' } } } });
    const client = createClient({ url: server.url, retry: quick });
    expect(await client.system.health()).toEqual({ status: 'unhealthy' });
    expect(server.requests).toHaveLength(1);
  });

  it('does not wait longer than its limit when the server requires a longer wait', async () => {
    await using server = await scripted({ ...busy, status: 429, headers: { 'retry-after': '3600' } });
    const error = await failure(createClient({ url: server.url, retry: quick }).roles.list());
    expect(error).toMatchObject({ code: 'too_many_requests', retryAfterMilliseconds: 3_600_000 });
    expect(server.requests).toHaveLength(1);
  });

  it('reads a Retry-After date against the date of the answer, not against a clock', async () => {
    await using server = await scripted({
      ...busy,
      headers: { date: 'Sat, 01 Jan 2000 00:00:00 GMT', 'retry-after': 'Sat, 01 Jan 2000 00:10:00 GMT' },
    });
    const error = await failure(createClient({ url: server.url, retry: quick }).roles.list());
    expect(error.retryAfterMilliseconds).toBe(600_000);
  });
});

describe('a failure', () => {
  const shapes: [Answer, Partial<BelayError>][] = [
    [
      {
        status: 401,
        body: { error: { message: 'sign in', code: -32001, data: { code: 'UNAUTHORIZED', httpStatus: 401 } } },
      },
      { code: 'unauthenticated', status: 401, message: 'sign in' },
    ],
    [
      {
        status: 409,
        body: {
          error: { message: 'held', code: -32009, data: { code: 'CONFLICT', httpStatus: 409, reason: 'held_outside' } },
        },
      },
      { code: 'held_outside', status: 409 },
    ],
    [
      { status: 403, body: { error: { message: 'no', code: -32003, data: { httpStatus: 403 } } } },
      { code: 'forbidden' },
    ],
    [
      { status: 404, body: { message: 'not there', code: 'NOT_FOUND' } },
      { code: 'not_found', message: 'not there' },
    ],
    [{ status: 501, body: { message: 'not set up', code: 'NOT_IMPLEMENTED' } }, { code: 'not_configured' }],
    [{ status: 500, body: { message: 'internal error' } }, { code: 'internal' }],
    [
      {
        status: 400,
        body: { message: 'wrong', code: 'BAD_REQUEST', issues: [{ path: 'reason', message: 'is required' }] },
      },
      { code: 'invalid', issues: [{ path: 'reason', message: 'is required' }] },
    ],
    [
      { status: 502, text: '<html>bad gateway</html>', headers: { 'content-type': 'text/html' } },
      { code: 'unavailable', status: 502 },
    ],
    [
      { status: 404, text: 'default backend - 404', headers: { 'content-type': 'text/plain' } },
      { code: 'network', status: 404 },
    ],
    [
      { status: 401, text: '<html>the proxy wants a password</html>', headers: { 'content-type': 'text/html' } },
      { code: 'network', status: 401 },
    ],
    [
      {
        status: 404,
        body: {
          error: { message: 'No procedure found on path "system.ready"', code: -32004, data: { httpStatus: 404 } },
        },
      },
      {
        code: 'not_configured',
        message: 'the server does not know system.ready: the versions of client and server differ',
      },
    ],
    [
      { status: 200, text: '<html>welcome</html>', headers: { 'content-type': 'text/html' } },
      { code: 'network', status: 200 },
    ],
    [
      { status: 421, body: { message: 'The Host header does not match', code: 'MISDIRECTED_REQUEST' } },
      { code: 'invalid', status: 421, message: 'The Host header does not match' },
    ],
    [
      { status: 302, text: '', headers: { location: 'https://elsewhere.example' } },
      { code: 'network', status: 302 },
    ],
    [{ status: 200, text: '{"result":' }, { code: 'network' }],
  ];
  it.each(shapes)('is typed: %o', async (answer, expected) => {
    await using server = await scripted(answer);
    const error = await failure(createClient({ url: server.url, retry: { attempts: 1 } }).roles.get('r'));
    expect(error).toMatchObject(expected);
  });

  it('carries the request id, so that its log lines can be found', async () => {
    await using server = await scripted({ status: 409, body: { message: 'x' }, headers: { 'x-request-id': 'req-7' } });
    const error = await failure(createClient({ url: server.url }).executions.cancel('1'));
    expect(error).toMatchObject({ code: 'conflict', requestId: 'req-7' });
    expect(isBelayError(error, 'conflict')).toBe(true);
    expect(isBelayError(error, 'not_found')).toBe(false);
  });

  it('of the network is `network`, and never shows the token', async () => {
    const { url, ...server } = await listen(() => {});
    await server[Symbol.asyncDispose]();
    const error = await failure(createClient({ url, token: 'secret-token', retry: { attempts: 1 } }).roles.list());
    expect(error).toMatchObject({ code: 'network', status: 0 });
    expect(JSON.stringify(error) + String(error.stack) + String(error.cause)).not.toContain('secret-token');
  });

  it('of the caller’s own making is `aborted`, before, during and between tries', async () => {
    await using silent = await listen(() => {});
    const client = createClient({ url: silent.url });
    expect(await failure(client.roles.list({}, { signal: AbortSignal.abort() }))).toMatchObject({ code: 'aborted' });
    expect(await failure(client.roles.list({}, { signal: AbortSignal.timeout(30) }))).toMatchObject({
      code: 'aborted',
    });
    await using server = await scripted(busy);
    const patient = createClient({ url: server.url, retry: { firstDelay: 60_000, longestDelay: 60_000 } });
    expect(await failure(patient.roles.list({}, { signal: AbortSignal.timeout(30) }))).toMatchObject({
      code: 'aborted',
    });
  });

  it('of the address is told when the client is made', () => {
    expect(() => createClient({ url: 'belay.example.com' })).toThrow('absolute http or https address');
    expect(() => createClient({ url: 'ftp://belay.example.com' })).toThrow(BelayError);
  });
});
