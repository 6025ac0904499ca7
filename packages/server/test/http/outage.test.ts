import { randomUUID } from 'node:crypto';
import { serverRouter } from '@belay/api';
import { exampleOf } from '@belay/contract/examples';
import { createProvisioningToken } from '@belay/core';
import { openDatabase } from '@belay/db';
import { listOperations } from '@belay/rest';
import { type Served, send, serve } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';

interface Call {
  name: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Calls that do not need the database: documents, and requests that are rejected before the database is read. */
const needsNoDatabase = [
  'POST /events/{source}',
  'trpc events.receive',
  'page /api/v1/openapi.json',
  'page /api/v1/reference',
  'page /api/v1/belay.schema.json',
];

/**
 * Returns a call, with example input, for each operation over REST and tRPC, each page without an operation, and each
 * operation of SCIM.
 */
function listCalls(tokens: { login: string; directory: string }): Call[] {
  const authorization = `Bearer ${tokens.login}`;
  const operations = listOperations(serverRouter).flatMap(
    ({ method, path, input, contentTypes, procedure }): Call[] => {
      const example = input ? exampleOf(input, 'input') : {};
      const fields = Object.entries(example as Record<string, unknown>);
      const filled = fields.reduce(
        (made, [name, value]) => made.replace(`{${name}}`, encodeURIComponent(`${value}`)),
        path,
      );
      const texts = fields.filter(([name, value]) => typeof value !== 'object' && !path.includes(`{${name}}`));
      const query = new URLSearchParams(texts.map(([name, value]) => [name, `${value}`])).toString();
      const [type = ''] = contentTypes;
      const inForm = type === 'application/x-www-form-urlencoded';
      const call = (accept: string): Call => ({
        name: `${method} ${path}`,
        method,
        path: `/api/v1${filled}${method === 'GET' ? `?${query}` : ''}`,
        headers: { authorization, accept, ...(method === 'GET' ? {} : { 'content-type': type }) },
        ...(method === 'GET' ? {} : { body: inForm ? query : JSON.stringify(example) }),
      });
      const { type: kind } = procedureOf(procedure);
      return kind === 'query' ? [call('application/json'), call('text/html')] : [call('application/json')];
    },
  );
  const procedures = Object.keys(serverRouter._def.procedures).map((name): Call => {
    const { type, inputs } = procedureOf(name);
    const [input] = inputs.slice(-1);
    const example = JSON.stringify(input ? exampleOf(input, 'input') : {});
    return {
      name: `trpc ${name}`,
      method: type === 'mutation' ? 'POST' : 'GET',
      path: `/trpc/${name}${type === 'mutation' ? '' : `?input=${encodeURIComponent(example)}`}`,
      headers: {
        authorization,
        'content-type': 'application/json',
        ...(type === 'subscription' ? { accept: 'text/event-stream' } : {}),
      },
      ...(type === 'mutation' ? { body: example } : {}),
    };
  });
  const documents = ['/api/v1/openapi.json', '/api/v1/reference', '/api/v1/belay.schema.json'];
  const own = ['/', '/search?q=read', '/request', '/inbox', '/requests', '/roles', '/access', '/reviews', '/settings'];
  const pages = [...own, ...documents].map((path): Call => {
    return { name: `page ${path}`, method: 'GET', path, headers: { authorization, accept: 'text/html' } };
  });
  const person = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'ada@example.test' };
  const anonymous = ['/health', '/metrics', '/ready'].map((path): Call => {
    return {
      name: `anonymous ${path}`,
      method: 'GET',
      path: `/api/v1${path}`,
      headers: { accept: 'application/json' },
    };
  });
  const directory: [method: string, path: string, body?: object][] = [
    ['GET', '/Users'],
    ['GET', '/Groups'],
    ['GET', '/ServiceProviderConfig'],
    ['POST', '/Users', person],
    ['PATCH', '/Users/one', { Operations: [{ op: 'replace', path: 'active', value: false }] }],
    ['DELETE', '/Users/one'],
    ['POST', '/.search', {}],
  ];
  return [
    ...operations,
    ...procedures,
    ...pages,
    ...anonymous,
    ...directory.map(([method, path, body]): Call => {
      const headers = { authorization: `Bearer ${tokens.directory}`, 'content-type': 'application/scim+json' };
      const said = body === undefined ? {} : { body: JSON.stringify(body) };
      return { name: `${method} /scim/v2${path}`, method, path: `/scim/v2${path}`, headers, ...said };
    }),
  ];
}

function procedureOf(name: string) {
  const procedures = serverRouter._def.procedures as unknown as Record<
    string,
    { _def: { type: 'query' | 'mutation' | 'subscription'; inputs: Parameters<typeof exampleOf>[0][] } }
  >;
  const found = procedures[name];
  if (found === undefined) throw new Error(`There is no procedure ${name}`);
  return found._def;
}

describe('while the database cannot be reached', () => {
  let world: World;
  let proxy: FaultyProxy;
  let served: Served;
  let directory: string;
  let closeDatabase: () => Promise<void>;
  beforeAll(async () => {
    const scim = {};
    world = await createWorld({
      timing: { streamCheck: 500 },
      change: (document) => {
        const { demo } = document.providers;
        return { ...document, providers: { ...document.providers, demo: { ...demo, scim } } };
      },
    });
    const actor = { kind: 'operator', name: 'root' } as const;
    const made = await createProvisioningToken({ ...world.context, actor }, { provider: 'demo', ttl: 'P1D' });
    directory = made.token;
  });
  beforeEach(async () => {
    const target = new URL(world.database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    const client = openDatabase(target.href, { max: 4 });
    closeDatabase = () => client.close(0);
    const { db, waited: databaseWait } = client;
    served = await serve({ context: { ...world.context, db }, router: serverRouter, databaseWait });
  });
  afterEach(async () => {
    await served[Symbol.asyncDispose]();
    await closeDatabase();
    await proxy[Symbol.asyncDispose]();
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  /** Opens the event stream of a new request. The stream checks its login again and again. */
  async function openStream(login: string): Promise<AbortController> {
    const headers = { authorization: `Bearer ${login}`, accept: 'text/event-stream' };
    const elevate = `${world.url}/api/v1/elevate?role=reader&provider=store&reason=incident`;
    const asked = await send(elevate, { headers: { ...headers, accept: 'application/json' } });
    const { output } = JSON.parse(asked.body) as { output: { execution_id: string } };
    const input = encodeURIComponent(JSON.stringify({ id: output.execution_id }));
    const closing = new AbortController();
    const { signal } = closing;
    const opened = await fetch(`${served.url}/trpc/executions.watch?input=${input}`, { headers, signal });
    expect(opened.status).toBe(200);
    return closing;
  }

  const faults: [string, () => void][] = [
    [
      'resets its connections and rejects new ones',
      () => {
        proxy.refuse(true);
        proxy.lose('reset');
      },
    ],
    ['swallows what is sent', () => proxy.swallow(true)],
  ];

  it.each(faults)(
    'ends every request within 10 s as 503 with Retry-After and a request id, and writes one line for all, while it %s',
    async (_, begin) => {
      const login = await world.token('requester');
      const ask = async ({ path, ...call }: Omit<Call, 'name'>) => {
        const started = performance.now();
        const answer = await send(`${served.url}${path}`, call);
        return { ...answer, milliseconds: performance.now() - started };
      };
      const authorization = `Bearer ${login}`;
      const list = {
        method: 'GET',
        path: '/api/v1/executions',
        headers: { authorization, accept: 'application/json' },
      };
      await expect.poll(async () => (await ask(list)).status, { timeout: 30_000 }).toBe(200);
      const stream = await openStream(login);
      const calls = listCalls({ login, directory });
      // Documents are created at their first request, which takes longer than any call here.
      await Promise.all(calls.filter(({ name }) => needsNoDatabase.includes(name)).map(ask));
      served.lines.length = 0;
      begin();
      const answers = await Promise.all(calls.map(async (call) => ({ name: call.name, ...(await ask(call)) })));
      const found = answers.map(({ name, status, headers, body, milliseconds }) => ({
        name,
        status,
        retry: headers['retry-after'],
        id: typeof headers['x-request-id'],
        inTime: milliseconds < 10_000,
        says: /ECONN|CONNECTION_|127\.0\.0\.1:|select /.exec(status === 200 ? '' : body)?.[0],
      }));
      const right = { status: 503, retry: '5', id: 'string', inTime: true, says: undefined };
      expect(found.filter(({ name }) => !needsNoDatabase.includes(name))).toEqual(
        calls.flatMap(({ name }) => (needsNoDatabase.includes(name) ? [] : [{ name, ...right }])),
      );
      expect(found.filter(({ status, inTime }) => (status >= 500 && status !== 503) || !inTime)).toEqual([]);
      const errors = served.lines.filter(({ level }) => level === 'error');
      expect(errors).toHaveLength(1);
      expect(errors[0]?.message).toContain('the database cannot be reached');
      // Apart from the lines of requests, no line has an error with a stack.
      expect(served.lines.filter(({ message, detail }) => message !== 'request' && 'error' in detail)).toEqual([]);
      stream.abort();
      proxy.refuse(false);
      proxy.swallow(false);
      const healed = performance.now();
      await expect.poll(async () => (await ask(list)).status, { timeout: 30_000 }).toBe(200);
      expect(performance.now() - healed).toBeLessThan(10_000);
    },
  );

  it.each(faults)('ends a call that waits 5 s for a request as 503, 4 s later, while it %s', async (_, begin) => {
    const authorization = `Bearer ${await world.token('requester')}`;
    const ask = (path: string) => send(`${served.url}/api/v1${path}`, { headers: { authorization } });
    const elevate = '/elevate?role=reader&provider=store&reason=incident';
    await expect.poll(async () => (await ask(elevate)).status, { timeout: 30_000 }).toBe(200);
    const [asked] = await world.database.sql`select id from executions order by started_at desc limit 1`;
    const id = String(asked?.id);
    const isWatched = async () => {
      const rows = await world.database.sql`select from watches where execution_id = ${id}`;
      return rows.length > 0;
    };
    const started = performance.now();
    const waiting = ask(`/execution/${id}?until=ended&wait=PT5S`);
    await expect.poll(isWatched).toBe(true);
    begin();
    expect(await waiting).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    // Two seconds more than the limit for a busy machine; executions.wait.test.ts checks the limit itself.
    expect(performance.now() - started).toBeLessThan(11_000);
    proxy.refuse(false);
    proxy.swallow(false);
  });

  it('ends a request whose statements take long one after the other as 503 within 10 s, and it is stored once', async () => {
    const authorization = `Bearer ${await world.token('requester')}`;
    const key = `stored-once-${randomUUID()}`;
    const elevate = async () => {
      const path = '/api/v1/elevate?role=reader&provider=store&reason=incident';
      const began = performance.now();
      const answer = await send(`${served.url}${path}`, { headers: { authorization, 'idempotency-key': key } });
      return { ...answer, milliseconds: performance.now() - began };
    };
    const list = () => send(`${served.url}/api/v1/executions`, { headers: { authorization } });
    // Opens every connection of the pool, because the server waits less long for a new connection.
    await expect.poll(async () => (await list()).status, { timeout: 30_000 }).toBe(200);
    await Promise.all(Array.from({ length: 4 }, list));
    const stored = async () => Number((await world.database.sql`select count(*) from executions`)[0]?.count);
    const before = await stored();
    proxy.delay(1_200);
    const late = await elevate();
    expect(late).toMatchObject({ status: 503, headers: { 'retry-after': '5', 'x-request-id': expect.any(String) } });
    expect(late.milliseconds).toBeGreaterThan(8_900);
    expect(late.milliseconds).toBeLessThan(10_000);
    proxy.delay(0);
    // Whether the work continued or was rolled back, repeating the request gives exactly one execution.
    await expect.poll(async () => (await elevate()).status, { timeout: 30_000 }).toBe(200);
    expect(await stored()).toBe(before + 1);
    expect(served.lines.filter(({ detail }) => detail.status === 500)).toEqual([]);
  });
});
