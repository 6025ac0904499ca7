import { readFile } from 'node:fs/promises';
import { serverRouter } from '@belay/api';
import { describeApi } from '@belay/api/openapi';
import { type Answer, send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCredential, startLocal } from '../../../agent/test/support/local.js';
import { type CallOptions, callRest } from './support/caller.js';

let world: World;
let rita: string;
let agent: Awaited<ReturnType<typeof startLocal>>;
beforeAll(async () => {
  world = await createWorld();
  rita = await world.token('requester');
  agent = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'edges') });
  await agent.agent.sync();
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const call = (method: string, path: string, options: CallOptions = {}) =>
  callRest(world.url, method, path, { token: rita, ...options });
const pathsOf = (json: Record<string, unknown>) => ((json.issues ?? []) as { path: string }[]).map(({ path }) => path);

describe('an empty list of providers', () => {
  it('is rejected wherever it would mean all of them, naming the field', async () => {
    const reason = 'An incident';
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const posted = (body: string) =>
      send(`${world.url}/api/v1/elevate`, {
        method: 'POST',
        body,
        headers: { ...form, authorization: `Bearer ${rita}`, 'content-length': String(body.length) },
      });
    const trpc = async (procedure: string, input: object): Promise<Answer> => {
      const body = JSON.stringify(input);
      const headers = {
        authorization: `Bearer ${rita}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
      };
      return send(`${world.url}/trpc/${procedure}`, { method: 'POST', body, headers });
    };
    const cases: [string, Answer, string][] = [
      ['JSON', await call('POST', '/elevate', { body: { role: 'reader', providers: [], reason } }), 'providers'],
      [
        'a Role',
        await call('POST', '/elevate', { body: { role: { name: 'reader', providers: [] }, reason } }),
        'role.providers',
      ],
      [
        'dynamic',
        await call('POST', '/elevate', { body: { groups: ['store:read'], providers: [], reason } }),
        'providers',
      ],
      ['a form', await posted('role=reader&providers=&reason=x'), 'providers'],
      ['GET', await call('GET', '/elevate?role=reader&provider=&reason=x'), 'provider'],
      [
        'an execution',
        await call('POST', '/execution', {
          body: { workflow: 'approve-and-grant', input: { role: 'reader', providers: [], reason } },
        }),
        'input.providers',
      ],
      ['tRPC', await trpc('elevation.request', { role: 'reader', providers: [], reason }), 'providers'],
      ['a list of roles', await call('GET', '/roles?provider='), 'provider'],
      ['a list of providers', await call('GET', '/providers?capability='), 'capability'],
    ];
    for (const [what, { status, body }, path] of cases) {
      expect([what, status], body).toEqual([what, 400]);
      const { issues, error } = JSON.parse(body) as {
        issues?: { path: string }[];
        error?: { data: { issues: { path: string }[] } };
      };
      expect([what, (issues ?? error?.data.issues ?? []).map((issue) => issue.path)]).toEqual([what, [path]]);
    }
    expect((await call('GET', '/executions')).json.executions).toEqual([]);
  });
});

describe('methods', () => {
  it('are named by OPTIONS exactly as they work', async () => {
    const document = describeApi(serverRouter, { baseUrl: world.url, basePath: '/api/v1', version: '1.0.0' });
    const id = '0197aaaa-0000-4000-8000-000000000000';
    const declared = Object.keys(document.paths ?? {}).filter((path) => !path.startsWith('/trpc/'));
    const paths = [...declared, '/home', '/openapi.json', '/reference', '/assets/belay.css'];
    let bo = await world.token('bystander');
    for (const template of paths) {
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => (/id$/.test(name) ? id : 'demo'));
      const { status, headers } = await send(`${world.url}/api/v1${path}`, { method: 'OPTIONS' });
      expect([path, status]).toEqual([path, 204]);
      const allowed = String(headers.allow).split(', ');
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await send(`${world.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${bo}`, accept: 'application/json' },
        });
        expect([method, path, answer.status !== 405]).toEqual([method, path, allowed.includes(method)]);
        if (answer.status === 405) expect(answer.headers.allow).toBe(headers.allow);
      }
      if (path.startsWith('/auth/logout')) bo = await world.token('bystander');
    }
  });
});

describe('headers', () => {
  it('of errors say what they depend on', async () => {
    for (const path of ['/nothing', '/roles', '/elevate?role=', '/home', '/execution/x']) {
      const sent: Record<string, string>[] = [{}, { accept: 'text/html' }, { authorization: 'Bearer none' }];
      for (const headers of sent) {
        const answer = await send(`${world.url}/api/v1${path}`, { headers });
        expect([path, String(answer.headers.vary)]).toEqual([path, 'Accept, Authorization, Cookie']);
      }
    }
    expect((await send(`${world.url}/api/v1/openapi.json`)).headers.vary, 'one for everyone').toBeUndefined();
  });

  it('of the JSON Schema of configuration files say what it is, and that it may be kept', async () => {
    // The OpenAPI document, created first, has schemas that the configuration also has.
    await send(`${world.url}/api/v1/openapi.json`);
    const answer = await send(`${world.url}/api/v1/belay.schema.json`);
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'application/schema+json; charset=utf-8',
      'public, max-age=300',
    ]);
    const published = new URL('../../../../docs/belay.schema.json', import.meta.url);
    expect(answer.body).toBe(await readFile(published, 'utf8'));
  });

  it('of every 401 say how to authenticate, at an agent and over tRPC too', async () => {
    expect((await send(`${world.url}/api/v1/roles`)).headers['www-authenticate']).toContain('Bearer realm="belay"');
    expect((await send(`${world.url}/trpc/roles.list?input=%7B%7D`)).headers['www-authenticate']).toContain('Bearer');
    for (const path of ['/roles', '/api/v1/providers', '/trpc/roles.list?input=%7B%7D']) {
      const answer = await agent.call('GET', path);
      expect([path, answer.status, answer.headers['www-authenticate']]).toEqual([
        path,
        401,
        'Session realm="belay", sign_in="/auth"',
      ]);
    }
  });
});

describe('the root of an agent', () => {
  it('says what it is and where to go on, as a page and as JSON', async () => {
    for (const path of ['/', '/api/v1']) {
      const json = await agent.call('GET', path);
      expect([json.status, json.json]).toMatchObject([200, { serviceType: 'agent', docsUrl: expect.any(String) }]);
      const page = await agent.call('GET', path, { headers: { accept: 'text/html' } });
      expect(page.status).toBe(200);
      for (const part of ['This is a Belay agent', 'href="/roles"', 'href="/health"', world.url]) {
        expect(page.body).toContain(part);
      }
      expect((await agent.call('OPTIONS', path)).headers.allow).toBe('GET, HEAD, OPTIONS');
      expect((await agent.call('POST', path, { body: {} })).status).toBe(405);
    }
  });
});

describe('a path of an issue', () => {
  it('has one notation, whether a schema or a verb rejects, and names what the caller sent', async () => {
    const reason = 'An incident';
    const execution = (input: object) =>
      call('POST', '/execution', {
        body: { workflow: 'approve-and-grant', input: { role: 'reader', reason, ...input } },
      });
    const cases: [string, Record<string, unknown>, string[]][] = [
      [
        'schema',
        (await call('POST', '/elevate', { body: { role: 'reader', reason, providers: ['store', ''] } })).json,
        ['providers[1]'],
      ],
      [
        'verb',
        (await call('POST', '/elevate', { body: { role: 'reader', reason, providers: ['store', 'demo'] } })).json,
        ['providers[1]'],
      ],
      ['link', (await call('GET', '/elevate?role=reader&provider=demo&reason=x')).json, ['provider']],
      ['one', (await execution({ provider: 'demo' })).json, ['input.provider']],
      ['several', (await execution({ providers: ['store', 'demo'] })).json, ['input.providers[1]']],
      [
        'users',
        (
          await call('POST', '/elevate', {
            body: { groups: ['store:read'], providers: ['store'], reason, users: ['x'.repeat(400)] },
          })
        ).json,
        ['users[0]'],
      ],
      [
        'missing',
        (
          await call('POST', '/execution', {
            body: { workflow: 'x', input: { role: 'reader', reason, identities: [1] } },
          })
        ).json,
        ['input.identities[0]'],
      ],
    ];
    for (const [what, json, paths] of cases) expect([what, pathsOf(json)], JSON.stringify(json)).toEqual([what, paths]);
  });
});

describe('text in an address', () => {
  it('that is not UTF-8 is rejected, naming the parameter', async () => {
    const cases: [string, string][] = [
      ['/elevate?role=reader&provider=store&reason=%ff%fe', 'reason'],
      ['/roles?provider=%c3%28', 'provider'],
      ['/logs?user=%', 'user'],
      ['/role/%ff', 'role'],
      ['/execution/%e2%28%a1/cancel', 'id'],
    ];
    for (const [path, name] of cases) {
      const { status, json } = await call('GET', path);
      expect([path, status, pathsOf(json)]).toEqual([path, 400, [name]]);
    }
    const body = 'role=reader&reason=%ff';
    const headers = { authorization: `Bearer ${rita}`, 'content-type': 'application/x-www-form-urlencoded' };
    const form = await send(`${world.url}/api/v1/elevate`, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-length': String(body.length) },
    });
    expect([form.status, pathsOf(JSON.parse(form.body) as Record<string, unknown>)]).toEqual([400, ['reason']]);
    const local = await agent.call('GET', '/logs?user=%ff');
    expect([local.status, pathsOf(local.json)]).toEqual([400, ['user']]);
  });
});

describe('a parameter that is not known', () => {
  it('is a 400 that names it, at every address', async () => {
    const document = describeApi(serverRouter, { baseUrl: world.url, basePath: '/api/v1', version: '1.0.0' });
    const reading = Object.entries(document.paths ?? {}).filter(([, item]) => item.get !== undefined);
    expect(reading.length).toBeGreaterThan(25);
    for (const [template] of reading) {
      if (/^\/(auth\/callback|trpc)/.test(template)) continue;
      const path = template.replace(/\{\w+\}/g, 'demo');
      const token = await world.token('bystander');
      const { status, json } = await call('GET', `${path}?surprise=1`, {
        token,
        headers: { accept: 'application/json' },
      });
      expect([path, status, pathsOf(json)]).toEqual([path, 400, expect.arrayContaining(['surprise'])]);
    }
    for (const path of ['/health', '/roles', '/sessions', '/workflows', '/session/demo']) {
      const { status, json } = await agent.call('GET', `${path}?surprise=1`);
      if (status !== 401) expect([path, status, pathsOf(json)]).toEqual([path, 400, ['surprise']]);
    }
  });

  it('is left alone where identity providers add their own', async () => {
    const query = 'code=x&state=y&iss=https%3A%2F%2Fid.example&session_state=1&scope=openid&authuser=0&hd=%ff';
    const { status, json } = await call('GET', `/auth/callback/demo?${query}`, {
      headers: { accept: 'application/json' },
    });
    // Rejected because its state belongs to no sign-in, and not because of the additional parameters.
    expect([status, pathsOf(json)]).toEqual([400, ['']]);
  });
});

describe('the description of the interface', () => {
  it('has the redirect that a browser gets after the page that asks to resume', () => {
    const document = describeApi(serverRouter, { baseUrl: world.url, basePath: '/api/v1', version: '1.0.0' });
    expect(Object.keys(document.paths?.['/elevate/resume']?.post?.responses ?? {})).toEqual(
      expect.arrayContaining(['303', '307']),
    );
  });
});
