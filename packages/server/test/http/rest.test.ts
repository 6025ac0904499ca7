import { publicProcedure, router } from '@belay/api';
import { AccessError } from '@belay/contract/errors';
import { type Context, timing } from '@belay/core';
import { delay } from '@belay/program';
import { type Served, send, serve } from '@belay/testkit/serve';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

/** A router that returns what the adapter passes to a procedure. Its procedures are public, so it needs no database. */
const echoed = z.object({ got: z.unknown() });
const rest = { public: true };
const echoRouter = router({
  read: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/thing/{name}' }, rest })
    .input(
      z.strictObject({
        name: z.string(),
        list: z.array(z.string()).optional(),
        count: z.number().int().optional(),
        plain: z.string().optional(),
      }),
    )
    .output(echoed)
    .query(({ input }) => ({ got: input })),
  literal: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/thing/literal' }, rest })
    .output(echoed)
    .query(() => ({ got: 'literal' })),
  dotted: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/.well-known/x' }, rest: { public: true, atRoot: true } })
    .output(echoed)
    .query(() => ({ got: 'dotted' })),
  write: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/thing',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest,
    })
    .input(z.strictObject({ flag: z.boolean().optional(), count: z.number().optional(), text: z.string().optional() }))
    .output(echoed)
    .mutation(({ input }) => ({ got: input })),
  raw: publicProcedure
    .meta({ openapi: { method: 'POST', path: '/raw' }, rest: { public: true, textBody: 'state', query: ['state'] } })
    .input(z.strictObject({ state: z.string().min(1) }))
    .output(echoed)
    .mutation(({ input }) => ({ got: input.state })),
  redirecting: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/redirecting' },
      rest: { public: true, redirect: { status: 307, always: true } },
    })
    .output(echoed)
    .query(({ ctx }) => {
      ctx.reply.status = 307;
      ctx.reply.location = '/api/v1/thing/literal';
      return { got: null };
    }),
  broken: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/broken' }, rest })
    .output(echoed)
    .query((): { got: unknown } => {
      throw new Error('the password is hunter2');
    }),
  misshapen: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/misshapen' }, rest })
    .output(z.object({ got: z.string() }))
    .query(() => ({ got: 7 as unknown as string })),
  failing: publicProcedure
    .meta({ openapi: { method: 'GET', path: '/failing/{code}' }, rest })
    .input(
      z.strictObject({
        code: z.enum([
          'invalid',
          'not_found',
          'conflict',
          'held_outside',
          'unavailable',
          'not_configured',
          'forbidden',
        ]),
      }),
    )
    .output(echoed)
    .query(({ input }): { got: unknown } => {
      throw new AccessError(input.code, 'as told', { cause: new Error('the password is hunter2') });
    }),
});

let ids = 0;
const context = {
  newId: () => `made-by-us-${++ids}`,
  program: { version: '0.1.0', revision: 'test', baseUrl: '' },
  timing,
  delay,
} as unknown as Context;

let served: Served;
beforeAll(async () => {
  served = await serve({ context, router: echoRouter, limits: { bodyBytes: 200 } });
});
afterAll(() => served[Symbol.asyncDispose]());

const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await send(`${served.url}/api/v1${path}`, { headers });
  return { ...answer, json: () => JSON.parse(answer.body) as Record<string, unknown> };
};
const post = async (
  path: string,
  body: string | Buffer,
  type: string | undefined,
  headers: Record<string, string> = {},
) => {
  const answer = await send(`${served.url}/api/v1${path}`, {
    method: 'POST',
    body,
    headers: {
      'content-length': String(Buffer.byteLength(body)),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
  });
  return { ...answer, json: () => JSON.parse(answer.body) as Record<string, unknown> };
};

describe('paths', () => {
  it('are decoded once, and a literal path wins over a parameter', async () => {
    expect((await get('/thing/aws%20prod%2Feu%2525')).json()).toEqual({ got: { name: 'aws prod/eu%25' } });
    expect((await get('/thing/literal')).json()).toEqual({ got: 'literal' });
  });

  it('match exactly: no wildcard dot, no other case, no trailing slash, no empty parameter', async () => {
    expect((await get('/.well-known/x')).status).toBe(200);
    for (const path of ['/Xwell-known/x', '/THING/literal', '/thing/literal/', '/thing/', '/nothing', '']) {
      const answer = await get(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.json()).toEqual({ message: 'There is nothing at this address', code: 'NOT_FOUND' });
    }
  });

  it('reject a percent sign that starts nothing', async () => {
    expect((await get('/thing/%zz')).status).toBe(400);
  });

  it('without the prefix exist only where orchestrators look', async () => {
    expect((await send(`${served.url}/.well-known/x`)).status).toBe(200);
    expect((await send(`${served.url}/thing/literal`)).status).toBe(404);
  });

  it('are never another host that the client names in an absolute form', async () => {
    expect((await send(served.url, { path: 'http://elsewhere.example/api/v1/thing/literal' })).status).toBe(400);
  });
});

describe('methods', () => {
  it('that a path does not have are 405 and say which it has', async () => {
    const answer = await send(`${served.url}/api/v1/thing/literal`, { method: 'DELETE' });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'METHOD_NOT_SUPPORTED' });
  });

  it('HEAD answers like GET without a body, OPTIONS lists', async () => {
    const head = await send(`${served.url}/api/v1/thing/literal`, { method: 'HEAD' });
    expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', '17']);
    const options = await send(`${served.url}/api/v1/thing`, { method: 'OPTIONS' });
    expect([options.status, options.headers.allow]).toEqual([204, 'POST, OPTIONS']);
  });
});

describe('queries', () => {
  it('take a list comma-separated, repeated, or both', async () => {
    expect((await get('/thing/a?list=x,y&list=z')).json()).toEqual({ got: { name: 'a', list: ['x', 'y', 'z'] } });
  });

  it('become a number only where the schema has one and the text is one', async () => {
    expect((await get('/thing/a?count=12&plain=12')).json()).toEqual({ got: { name: 'a', count: 12, plain: '12' } });
    for (const text of ['', '1e3', '0x10', '1.5', 'many']) {
      const answer = await get(`/thing/a?count=${text}`);
      expect([text, answer.status]).toEqual([text, 400]);
      expect(answer.json()).toMatchObject({ code: 'BAD_REQUEST', issues: [{ path: 'count' }] });
    }
  });

  it('are rejected when a key is given twice, is unknown, or says what the path says', async () => {
    expect((await get('/thing/a?plain=1&plain=2')).json()).toMatchObject({ issues: [{ path: 'plain' }] });
    expect((await get('/thing/a?other=1')).status).toBe(400);
    expect((await get('/thing/a?__proto__=1')).status).toBe(400);
    expect((await get('/thing/a?name=b')).json()).toMatchObject({ issues: [{ path: 'name' }] });
    expect((await post('/thing?text=1', '{}', 'application/json')).json()).toMatchObject({
      issues: [{ path: 'text' }],
    });
  });
});

describe('bodies', () => {
  it('in JSON keep their types: a word is no boolean and a digit in quotes no number', async () => {
    expect((await post('/thing', '{"flag":true,"count":1}', 'application/json; charset=utf-8')).json()).toEqual({
      got: { flag: true, count: 1 },
    });
    for (const body of [
      '{"flag":"false"}',
      '{"flag":"no"}',
      '{"count":"1"}',
      '{"count":""}',
      '{"__proto__":{}}',
      '{"x":1}',
    ]) {
      expect([body, (await post('/thing', body, 'application/json')).status]).toEqual([body, 400]);
    }
  });

  it('that are not a JSON object are 400', async () => {
    for (const body of ['{', '[]', 'null', '"text"', '']) {
      const answer = await post('/thing', body === '' ? ' ' : body, 'application/json');
      expect([body, answer.status]).toEqual([body, 400]);
    }
    expect((await post('/thing', Buffer.from([0x7b, 0xff, 0x7d]), 'application/json')).status).toBe(400);
  });

  it('may be a form where the operation says so, and are 415 elsewhere or in another coding', async () => {
    expect((await post('/thing', 'text=a+b%26c', 'application/x-www-form-urlencoded')).json()).toEqual({
      got: { text: 'a b&c' },
    });
    expect((await post('/thing', 'x', 'text/plain')).status).toBe(415);
    expect((await post('/thing', 'x', undefined)).status).toBe(415);
    expect((await post('/thing', '{}', 'application/json; charset=latin1')).status).toBe(415);
    expect((await post('/thing', '{}', 'application/json', { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post('/raw', 'x', 'multipart/form-data; boundary=x')).status).toBe(415);
  });

  it('past the limit are 413, declared or not', async () => {
    expect((await post('/thing', `{"text":"${'x'.repeat(300)}"}`, 'application/json')).status).toBe(413);
    const chunked = await send(`${served.url}/api/v1/thing`, {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
      body: `{"text":"${'x'.repeat(300)}"}`,
    });
    expect([chunked.status, chunked.headers.connection]).toEqual([413, 'close']);
  });

  it('may be a raw token, or the token is in the query, which counts', async () => {
    expect((await post('/raw', ' token.a-b_c \n', 'text/plain')).json()).toEqual({ got: 'token.a-b_c' });
    expect((await post('/raw', 'token.a', 'application/x-www-form-urlencoded')).json()).toEqual({ got: 'token.a' });
    expect((await post('/raw', '"token.a"', 'application/json')).json()).toEqual({ got: 'token.a' });
    expect((await post('/raw?state=query', 'body', 'text/plain')).json()).toEqual({ got: 'query' });
    expect((await post('/raw', '', undefined)).json()).toMatchObject({ issues: [{ path: 'state' }] });
  });
});

describe('answers', () => {
  it('are rejected with 406 when nothing acceptable exists', async () => {
    expect((await get('/thing/literal', { accept: 'image/png' })).status).toBe(406);
    expect((await get('/thing/literal', { accept: 'application/json;q=0' })).status).toBe(406);
    expect((await get('/thing/literal', { accept: 'image/png, */*;q=0.1' })).status).toBe(200);
  });

  it('vary by Accept, are for no cache, and carry the headers that keep a browser strict', async () => {
    const { headers } = await get('/thing/literal');
    expect(headers).toMatchObject({
      vary: 'Accept, Authorization, Cookie',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'content-type': 'application/json; charset=utf-8',
    });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['strict-transport-security']).toBeUndefined();
  });

  it('can be a redirect, which a procedure states as data', async () => {
    const answer = await get('/redirecting');
    expect([answer.status, answer.headers.location]).toEqual([307, '/api/v1/thing/literal']);
  });

  it('carry the id of the request: the client’s when it is sane, else ours', async () => {
    expect((await get('/thing/literal', { 'x-request-id': 'client-id-1' })).headers['x-request-id']).toBe(
      'client-id-1',
    );
    for (const odd of ['short', 'has space in it', 'x'.repeat(200)]) {
      expect((await get('/thing/literal', { 'x-request-id': odd })).headers['x-request-id']).toMatch(
        /^made-by-us-\d+-\w+$/,
      );
    }
  });
});

describe('errors', () => {
  it('have the status and the code of the one table', async () => {
    const found: Record<string, [number, unknown]> = {};
    for (const code of [
      'invalid',
      'not_found',
      'conflict',
      'held_outside',
      'unavailable',
      'not_configured',
      'forbidden',
    ]) {
      const answer = await get(`/failing/${code}`);
      expect(Object.keys(answer.json()).sort()).toEqual(
        answer.status === 400 ? ['code', 'issues', 'message'] : ['code', 'message'],
      );
      found[code] = [answer.status, answer.json().code];
      if (code === 'unavailable') expect(answer.headers['retry-after']).toBe('5');
    }
    expect(found).toEqual({
      invalid: [400, 'BAD_REQUEST'],
      not_found: [404, 'NOT_FOUND'],
      conflict: [409, 'CONFLICT'],
      held_outside: [409, 'CONFLICT'],
      unavailable: [503, 'SERVICE_UNAVAILABLE'],
      not_configured: [501, 'NOT_IMPLEMENTED'],
      forbidden: [403, 'FORBIDDEN'],
    });
  });

  it('that are unexpected are logged in full under an id, which is all that the caller gets', async () => {
    for (const path of ['/broken', '/misshapen']) {
      const before = served.lines.length;
      const answer = await get(path, { 'x-request-id': `trace${path.replace('/', '-')}` });
      expect(answer.status).toBe(500);
      expect(answer.body).not.toContain('hunter2');
      expect(answer.json()).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
      const errors = served.lines.slice(before).filter(({ level }) => level === 'error');
      expect(errors).toMatchObject([{ detail: { requestId: `trace${path.replace('/', '-')}` } }]);
    }
    expect((await get('/failing/conflict')).body).not.toContain('hunter2');
  });

  it('are a page for a browser, with everything in it escaped', async () => {
    const answer = await get('/thing/a?%3Cscript%3E=1', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).toContain('<h1>Invalid request</h1>');
    expect(answer.body).toContain('&lt;script');
    expect(answer.body).not.toMatch(/<script|style=|onclick=/);
  });
});

describe('the log', () => {
  it('has one line for each request, and never a query', async () => {
    const path = '/api/v1/thing/logged';
    await get('/thing/logged?plain=very-secret', { authorization: 'Basic very-secret' });
    const lines = () => served.lines.filter(({ message, detail }) => message === 'request' && detail.path === path);
    // The line is written after the response was sent, so the client may have the response first.
    await vi.waitFor(
      () => expect(lines()).toMatchObject([{ level: 'debug', detail: { method: 'GET', status: 200 } }]),
      {
        timeout: 30_000,
      },
    );
    expect(JSON.stringify(served.lines)).not.toContain('very-secret');
  });
});
