import { enrollAgent, withActor } from '@belay/core';
import { createClient } from '@belay/sdk';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

let world: World;
let person: string;
let agent: string;
beforeAll(async () => {
  world = await createWorld();
  person = await world.token('requester');
  agent = await enrol('build-3');
});
afterAll(() => world[Symbol.asyncDispose]());

const operator = () => withActor(world.context, { kind: 'operator', name: 'test' });
const enrol = async (name: string) => (await enrollAgent(operator(), { name, ttl: 'P30D' })).credential;
const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const environment = { name: 'build-3', description: 'In the cellar' };
const entries = [{ timestamp: '2026-01-01T00:00:00.000Z', level: 'info', message: 'hello' }];

describe('POST /register', () => {
  it('answers exactly what is documented, the same each time', async () => {
    const answer = await call('POST', '/register', { token: agent, body: { environment } });
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        success: true,
        catalog_version: '1.0.1',
        signature: {
          key: { kid: expect.any(String), x: expect.any(String) },
          announced: [],
          statement: expect.any(String),
        },
        services: {
          workflow_engine: { enabled: true, namespace: 'belay', task_queue: 'executions' },
          llm: { enabled: false, provider: 'none' },
        },
        roles: {
          definitions: {
            reader: {
              name: 'reader',
              description: 'Read the store',
              providers: ['store'],
              workflows: ['approve-and-grant'],
              enabled: true,
              permissions: { groups: ['engineers'] },
              max_duration: 'PT1H',
              default_duration: 'PT15M',
              reason: { required: true },
            },
            secret: expect.objectContaining({ name: 'secret' }),
          },
        },
        providers: {
          definitions: {
            demo: expect.objectContaining({ name: 'Demo <identity> provider', provider: 'oidc' }),
            store: {
              name: 'Store',
              provider: 'memory',
              description: 'Where access is granted',
              enabled: true,
              capabilities: expect.arrayContaining(['authorizer']),
            },
            hidden: expect.objectContaining({ permissions: { groups: ['others'] } }),
          },
        },
        workflows: {
          definitions: {
            'approve-and-grant': {
              name: 'approve-and-grant',
              description: 'One approval',
              enabled: true,
              steps: [
                { name: 'validate', path: '/do/0/validate', task: 'call', call: 'access.validate' },
                { name: 'approve', path: '/do/1/approve', task: 'call', call: 'access.approve' },
                { name: 'decide', path: '/do/2/decide', task: 'switch' },
                { name: 'grant', path: '/do/3/grant', task: 'call', call: 'access.grant' },
                { name: 'hold', path: '/do/4/hold', task: 'call', call: 'access.hold' },
              ],
            },
          },
        },
      },
    ]);
    const again = await call('POST', '/register', { token: agent, body: { environment } });
    expect(again.json).toEqual(answer.json);
    const config = world.context.catalog.current().providers.get('demo')?.config as Record<string, unknown>;
    for (const value of [config.client_secret, config.issuer, agent, '${', 'client_id']) {
      expect(answer.body).not.toContain(String(value));
    }
  });

  it('is for agents: not for people, not without a credential, not for a credential that was replaced', async () => {
    const body = { environment };
    expect((await call('POST', '/register', { body })).status).toBe(401);
    expect((await call('POST', '/register', { token: person, body })).status).toBe(403);
    const old = await enrol('build-4');
    expect((await call('POST', '/register', { token: old, body })).status).toBe(200);
    const renewed = await enrol('build-4');
    expect((await call('POST', '/register', { token: old, body })).status).toBe(401);
    expect((await call('POST', '/register', { token: renewed, body })).status).toBe(200);
    // A credential of an agent is not accepted in a cookie.
    const answer = await send(`${world.url}/api/v1/register`, {
      method: 'POST',
      headers: { cookie: `belay=${agent}`, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(401);
  });

  it('rejects what is malformed', async () => {
    for (const body of [
      {},
      { environment: 'x' },
      { environment: { name: '', description: '' } },
      { environment: { ...environment, more: true } },
      { environment, agent_id: 'another' },
    ]) {
      expect((await call('POST', '/register', { token: agent, body })).status).toBe(400);
    }
  });
});

describe('an agent’s credential', () => {
  it('opens nothing that is a person’s', async () => {
    const operations: [string, string, object?][] = [
      ['GET', '/roles'],
      ['GET', '/providers'],
      ['GET', '/workflows'],
      ['GET', '/executions'],
      ['GET', '/sessions'],
      ['GET', '/logs'],
      ['GET', '/logs/export'],
      ['GET', '/access'],
      ['GET', '/approvals'],
      ['GET', '/auth/whoami'],
      ['POST', '/elevate', { role: 'reader', reason: 'x' }],
      [
        'POST',
        '/execution',
        { workflow: 'approve-and-grant', input: { role: 'reader', provider: 'store', reason: 'x' } },
      ],
      ['POST', '/auth/session/demo', {}],
    ];
    for (const [method, path, body] of operations) {
      const answer = await call(method, path, { token: agent, ...(body ? { body } : {}) });
      expect([method, path, answer.status]).toEqual([method, path, 403]);
    }
    const trpc = await send(`${world.url}/trpc/roles.list`, { headers: { authorization: `Bearer ${agent}` } });
    expect(trpc.status).toBe(403);
  });

  it('a person’s token opens nothing that is an agent’s', async () => {
    for (const [path, body] of [
      ['/register', { environment }],
      ['/preflight', {}],
      ['/postflight', {}],
      ['/logs', { entries }],
    ] as const) {
      expect([path, (await call('POST', path, { token: person, body })).status]).toEqual([path, 403]);
      expect([path, (await call('POST', path, { body })).status]).toEqual([path, 401]);
    }
  });

  it('reads the version of the configuration, as people do', async () => {
    for (const token of [agent, person]) {
      expect((await call('GET', '/sync', { token })).json).toMatchObject({
        version: '0.1.0 (git: test)',
        catalog_version: '1.0.1',
      });
    }
    expect((await call('GET', '/sync')).status).toBe(401);
  });

  it('is in no line of the log', () => {
    expect(JSON.stringify(world.lines)).toContain('agent build-3');
    expect(JSON.stringify(world.lines)).not.toContain(agent);
  });
});

describe('preflight and postflight', () => {
  it('answer and are recorded; what is malformed is rejected', async () => {
    const body = { environment, version: '0.1.0', catalog_version: '1.0.1', checks: [{ name: 'disk', ok: true }] };
    for (const phase of ['preflight', 'postflight']) {
      const answer = await call('POST', `/${phase}`, { token: agent, body });
      expect([answer.status, answer.json]).toMatchObject([
        200,
        { success: true, current: true, version: expect.any(String) },
      ]);
      for (const wrong of [{ checks: 'all' }, { checks: [{ name: 'x' }] }, { other: 1 }, { environment: {} }]) {
        expect((await call('POST', `/${phase}`, { token: agent, body: wrong })).status).toBe(400);
      }
    }
  });
});

describe('the API configuration', () => {
  it('says nothing that is not so', async () => {
    const answer = (await call('GET', '/.well-known/api-configuration')).json as Record<string, string> & {
      authMethods: string[];
      capabilities: Record<string, boolean>;
    };
    expect(answer).toMatchObject({
      serviceName: 'belay',
      serviceType: 'server',
      baseUrl: world.url,
      apiBasePath: '/api/v1',
    });
    for (const field of ['authEndpoint', 'docsUrl', 'openApiSpec']) {
      const { status } = await send(String(answer[field]));
      expect([field, status]).toEqual([field, 200]);
    }
    const spec = JSON.parse((await send(String(answer.openApiSpec))).body) as {
      openapi: string;
      info: { version: string };
    };
    expect(spec.openapi).toMatch(/^3\.1/);
    expect(spec.info.version).toBe(answer.version);
    expect(answer.authMethods).toEqual(['session', 'bearer']);
    const headers = [
      { authorization: `Bearer ${person}` },
      { cookie: `belay=${person}`, 'sec-fetch-site': 'same-origin' },
    ];
    for (const each of headers) {
      expect(
        (await send(`${answer.baseUrl}${answer.apiBasePath}/auth/whoami`, { headers: each as never })).status,
      ).toBe(200);
    }
    const health = (await call('GET', '/health')).json as { services: Record<string, string> };
    for (const [service, there] of Object.entries(answer.capabilities)) {
      expect([service, health.services[service] !== 'not configured']).toEqual([service, there]);
    }
  });
});

it('the SDK does an agent’s whole story', async () => {
  const client = createClient({ url: world.url, token: await enrol('sdk-agent') });
  expect(await client.configuration.preflight({ environment })).toMatchObject({ success: true });
  expect(Object.keys((await client.configuration.register(environment)).roles.definitions)).toContain('reader');
  expect(await client.configuration.postflight({ catalog_version: '1.0.1' })).toMatchObject({ current: true });
  expect(await client.logs.record([{ timestamp: '2026-01-01T00:00:00.000Z', level: 'info', message: 'up' }])).toEqual({
    accepted: 1,
  });
  expect(await client.configuration.sync()).toMatchObject({ catalog_version: '1.0.1' });
  await expect(client.roles.list()).rejects.toMatchObject({ code: 'forbidden' });
});
