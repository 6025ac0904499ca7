import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

/**
 * The rules of docs/interface.md in server mode, each under its number there. The tests of the agent cover agent mode.
 */

let world: World;
let requester: string;
let approver: string;
let bystander: string;
beforeAll(async () => {
  world = await createWorld();
  await switchOff();
  requester = await world.token('requester');
  approver = await world.token('approver');
  bystander = await world.token('bystander');
});
afterAll(() => world[Symbol.asyncDispose]());

/** Adds a role, a provider and a workflow that are not enabled. */
async function switchOff(): Promise<void> {
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const { reader } = document.roles ?? {};
  const workflow = document.workflows?.['approve-and-grant'];
  if (reader === undefined || workflow === undefined) throw new Error('The world has changed');
  await applyCatalog(
    world.context.db,
    {
      document: {
        ...document,
        providers: { ...document.providers, off: { provider: 'memory', enabled: false } },
        roles: { ...document.roles, 'reader-off': { ...reader, enabled: false } },
        workflows: { ...document.workflows, 'workflow-off': { ...workflow, enabled: false } },
      },
      source: 'test',
    },
    { connectors: createRegistry([oidcConnector, createMemoryConnector(world.store)]), resolve: () => undefined },
  );
  await catalog.refresh();
}

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const get = (path: string, token?: string, headers: Record<string, string> = {}) =>
  call('GET', path, { ...(token === undefined ? {} : { token }), headers });
const asHtml = { accept: 'text/html' };
const typeOf = (answer: { headers: Record<string, unknown> }) => String(answer.headers['content-type']);

async function ask(token = requester): Promise<string> {
  const answer = await call('POST', '/elevate', { token, body: { role: 'reader', reason: 'An incident' } });
  return (answer.json.output as { execution_id: string }).execution_id;
}

interface Summary {
  _id: string;
}
const providersOf = async (token: string, query = '') =>
  ((await get(`/providers${query}`, token)).json.providers as Summary[]).map(({ _id }) => _id).sort();

describe('Rules for GET /providers', () => {
  it('1. It requires authentication', async () => {
    expect((await get('/providers')).status).toBe(401);
  });

  it('2. It returns only enabled providers whose clients are initialized', async () => {
    expect(await providersOf(requester)).not.toContain('off');
    const { document } = world.context.catalog.current();
    expect(Object.keys(document.providers ?? {})).toContain('off');
  });

  it('3. It filters the result by the permissions of the user', async () => {
    expect(await providersOf(requester)).toEqual(['demo', 'store']);
    expect((await get('/provider/hidden', requester)).status).toBe(404);
  });

  it('4. It supports JSON and HTML responses', async () => {
    expect(typeOf(await get('/providers', requester))).toBe('application/json; charset=utf-8');
    expect(typeOf(await get('/providers', requester, asHtml))).toBe('text/html; charset=utf-8');
  });

  it('5. The capability filter restricts the list to providers having any of the named capabilities', async () => {
    expect(await providersOf(requester, '?capability=authenticator')).toEqual(['demo']);
    expect(await providersOf(requester, '?capability=authorizer')).toEqual(['store']);
    expect(await providersOf(requester, '?capability=authorizer,authenticator')).toEqual(['demo', 'store']);
    expect(await providersOf(requester, '?capability=authorizer&capability=authenticator')).toEqual(['demo', 'store']);
    const wrong = await get('/providers?capability=authorizer,flying', requester);
    expect([wrong.status, wrong.json]).toMatchObject([
      400,
      { issues: [{ path: expect.stringMatching(/^capability/) }] },
    ]);
  });
});

describe('Authentication endpoints', () => {
  it('GET /auth with a provider redirects to /api/v1/auth/request/{provider}?callback={callback}', async () => {
    const answer = await get(`/auth?provider=demo&callback=${encodeURIComponent(`${world.url}/api/v1/roles`)}`);
    expect([answer.status, answer.headers.location]).toEqual([
      302,
      `/api/v1/auth/request/demo?callback=${encodeURIComponent(`${world.url}/api/v1/roles`)}`,
    ]);
  });

  it('2. In server mode GET /auth shows a local authentication page', async () => {
    const page = await get('/auth', undefined, asHtml);
    expect([page.status, typeOf(page)]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('/api/v1/auth/request/demo');
  });

  it('logout clears the session of one provider, or of all when none is given', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', people.requester.subject);
    expect((await browser.visit('/auth/logout/demo')).status).toBe(200);
    expect((await browser.visit('/sessions')).status).toBe(401);
    await browser.signIn('demo', people.requester.subject);
    expect((await browser.visit('/auth/logout')).status).toBe(200);
    expect((await browser.visit('/sessions')).status).toBe(401);
  });
});

describe('Elevation endpoints', () => {
  it('GET /elevate: role, provider and reason are required; without a workflow the role’s default is used', async () => {
    for (const missing of ['role', 'provider', 'reason']) {
      const query = new URLSearchParams({ role: 'reader', provider: 'store', reason: 'x' });
      query.delete(missing);
      const answer = await get(`/elevate?${query.toString()}`, requester);
      expect([missing, answer.status, answer.json]).toMatchObject([missing, 400, { issues: [{ path: missing }] }]);
    }
    const answer = await get('/elevate?role=reader&provider=store&reason=x', requester);
    const { output } = answer.json as { output: { execution_id: string } };
    const execution = await get(`/execution/${output.execution_id}`, requester);
    expect(execution.json.workflow_type).toEqual({ name: 'approve-and-grant' });
  });

  it('GET /elevate/llm returns an HTML form; POST /elevate/llm suggests and grants nothing', async () => {
    expect(typeOf(await get('/elevate/llm', requester, asHtml))).toBe('text/html; charset=utf-8');
    const held = (await get('/access', requester)).json.access;
    const answer = await call('POST', '/elevate/llm', {
      token: requester,
      body: { reason: 'read the store for an hour' },
    });
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { output: { suggested_role: 'reader', suggested_duration: 'PT1H', suggested_providers: ['store'] } },
    ]);
    expect((await get('/access', requester)).json.access).toEqual(held);
  });
});

describe('Rules of the execution endpoints', () => {
  const body = { workflow: 'approve-and-grant', input: { role: 'reader', provider: 'store', reason: 'x' } };

  it('1. POST /execution requires authentication; the workflow must exist and be enabled; the input is validated', async () => {
    expect((await call('POST', '/execution', { body })).status).toBe(401);
    for (const workflow of ['no-such-workflow', 'workflow-off']) {
      const answer = await call('POST', '/execution', { token: requester, body: { ...body, workflow } });
      expect([workflow, answer.status, answer.json]).toMatchObject([workflow, 400, { issues: [{ path: 'workflow' }] }]);
    }
    for (const input of [{}, { role: 'reader' }, { ...body.input, reason: 7 }, { ...body.input, more: true }]) {
      const answer = await call('POST', '/execution', { token: requester, body: { ...body, input } });
      expect([input, answer.status, Array.isArray(answer.json.issues)]).toEqual([input, 400, true]);
    }
    expect((await call('POST', '/execution', { token: requester, body })).status).toBe(200);
  });

  it('2. Cancel, terminate and signal require authentication, and the user must own the execution', async () => {
    const id = await ask();
    await world.drive();
    for (const verb of ['cancel', 'terminate', 'signal?input=x']) {
      const path = `/execution/${id}/${verb}`;
      expect([verb, (await get(path)).status]).toEqual([verb, 401]);
    }
    for (const verb of ['cancel', 'terminate']) {
      expect([verb, (await get(`/execution/${id}/${verb}`, bystander)).status]).toEqual([verb, 404]);
      expect([verb, (await get(`/execution/${id}/${verb}`, approver)).status]).toEqual([verb, 403]);
    }
    expect((await get(`/execution/${id}`, requester)).json.status).toBe('waiting');
  });

  it('3. The signal is validated before it is sent; signals carry approvals', async () => {
    const id = await ask();
    await world.drive();
    expect((await get(`/execution/${id}/signal?input=eyJhbGciOiJub25lIn0`, approver)).status).toBe(400);
    const decision = { type: 'belay.approval.decided', data: { approved: true } };
    const sealed = await call('POST', `/execution/${id}/signal/token`, { token: approver, body: decision });
    const input = encodeURIComponent(String(sealed.json.input));
    expect((await get(`/execution/${id}/signal?input=${input}`, approver)).status).toBe(200);
    await world.drive();
    expect(world.store.holds(people.requester.email, { role: 'read' })).toBe(true);
    expect((await call('POST', `/access/${id}/return`, { token: requester })).status).toBe(200);
    await world.drive();
  });

  it('GET /executions lists the running executions of the authenticated user', async () => {
    const id = await ask();
    const listed = async (token: string) =>
      ((await get('/executions', token)).json.executions as { run_id: string }[]).map(({ run_id }) => run_id);
    expect(await listed(requester)).toContain(id);
    expect(await listed(approver)).not.toContain(id);
    await get(`/execution/${id}/terminate`, requester);
    expect(await listed(requester)).not.toContain(id);
  });
});

describe('Rules of the roles', () => {
  it('1. Both require authentication', async () => {
    expect([(await get('/roles')).status, (await get('/role/reader')).status]).toEqual([401, 401]);
  });

  it('2. GET /roles returns only enabled roles, filters by the user’s permissions, and supports JSON and HTML', async () => {
    expect(Object.keys((await get('/roles', requester)).json.roles as object)).toEqual(['reader']);
    expect((await get('/roles', bystander)).json.roles).toEqual({});
    expect((await get('/roles?provider=demo', requester)).json.roles).toEqual({});
    expect(Object.keys((await get('/roles?provider=demo,store', requester)).json.roles as object)).toEqual(['reader']);
    expect(typeOf(await get('/roles', requester, asHtml))).toBe('text/html; charset=utf-8');
  });

  it('3. GET /role/{role} requires permission to view the role, and returns it with permissions and workflows', async () => {
    expect((await get('/role/reader', requester)).json).toMatchObject({
      name: 'reader',
      permissions: { groups: ['engineers'] },
      workflows: ['approve-and-grant'],
    });
    expect((await get('/role/reader', bystander)).status).toBe(404);
    expect((await get('/role/secret', requester)).status).toBe(404);
  });
});

describe('Rules of the workflows', () => {
  it('1. Both require authentication in server mode', async () => {
    const answers = await Promise.all([get('/workflows'), get('/workflow/approve-and-grant')]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  });

  it('2. The list returns only enabled workflows and filters by the user’s permissions', async () => {
    expect(Object.keys((await get('/workflows', requester)).json.workflows as object)).toEqual(['approve-and-grant']);
    expect((await get('/workflows', bystander)).json.workflows).toEqual({});
  });

  it('3. GET /workflow/{name} requires permission to view the workflow', async () => {
    expect((await get('/workflow/approve-and-grant', requester)).status).toBe(200);
    expect((await get('/workflow/approve-and-grant', bystander)).status).toBe(404);
    expect((await get('/workflow/workflow-off', requester)).status).toBe(404);
  });

  it('4. Both support JSON and HTML', async () => {
    for (const path of ['/workflows', '/workflow/approve-and-grant']) {
      expect(typeOf(await get(path, requester))).toBe('application/json; charset=utf-8');
      expect(typeOf(await get(path, requester, asHtml))).toBe('text/html; charset=utf-8');
    }
  });
});

describe('Authentication', () => {
  it('1. The advertised methods are session and bearer, and both work', async () => {
    expect((await get('/.well-known/api-configuration')).json.authMethods).toEqual(['session', 'bearer']);
    expect((await get('/auth/whoami', requester)).status).toBe(200);
    const browser = openVisitor(world.url);
    await browser.signIn('demo', people.requester.subject);
    expect((await browser.visit('/auth/whoami')).status).toBe(200);
  });

  it('2. People authenticate by a code; the state protects against forgery', async () => {
    const browser = openVisitor(world.url);
    const begun = await browser.visit('/auth/request/demo');
    const url = new URL(begun.location);
    expect([begun.status, url.searchParams.get('response_type')]).toEqual([302, 'code']);
    const answer = new URL(await browser.prove(begun.location, people.requester.subject));
    answer.searchParams.set('state', 'another');
    expect((await browser.visit(answer.href, { site: 'cross-site' })).status).toBe(400);
  });

  it('4. Sessions are per provider and have a version and an expiry', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', people.requester.subject);
    expect((await browser.visit('/sessions')).json.sessions).toEqual({
      demo: { version: 1, expiry: expect.stringMatching(/Z$/) },
    });
  });
});

describe('Events', () => {
  it('2. Execution details carry a history of event_type and timestamp, oldest first', async () => {
    const id = await ask();
    await world.drive();
    const history = (await get(`/execution/${id}`, requester)).json.history as {
      event_type: string;
      timestamp: string;
    }[];
    expect(history.length).toBeGreaterThan(2);
    expect(history.map(({ timestamp }) => timestamp)).toEqual(history.map(({ timestamp }) => timestamp).sort());
    expect(history.map(({ event_type }) => event_type)).toContain('elevation.requested');
  });

  it('3. Cancel sends a cancellation signal, so that the workflow can clean up; terminate is forceful', async () => {
    const [gently, hard] = [await ask(), await ask()];
    await world.drive();
    expect((await get(`/execution/${gently}/cancel`, requester)).json).toMatchObject({ status: 'ok' });
    expect((await get(`/execution/${hard}/terminate`, requester)).json).toMatchObject({ status: 'ok' });
    await world.drive();
    const statuses = await Promise.all([gently, hard].map((id) => get(`/execution/${id}`, requester)));
    expect(statuses.map(({ json }) => json.status)).toEqual(['cancelled', 'terminated']);
  });
});

describe('Errors', () => {
  it('1. A successful resume by GET or POST answers with 307, unless JSON is requested', async () => {
    for (const way of ['GET', 'POST with the state', 'POST with the body', 'JSON'] as const) {
      const id = await ask();
      await world.drive();
      const items = (await get('/approvals', approver)).json.approvals as {
        execution_id: string;
        request_digest: string;
      }[];
      const item = items.find(({ execution_id }) => execution_id === id);
      const body = { execution_id: id, verdict: 'deny', request_digest: item?.request_digest };
      const made = await call('POST', '/elevate/resume/token', { token: approver, body });
      const state = String(made.json.state);
      const query = `?state=${encodeURIComponent(state)}`;
      const answer = await send(`${world.url}/api/v1/elevate/resume${way === 'POST with the body' ? '' : query}`, {
        method: way === 'GET' ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${approver}`,
          ...(way === 'JSON' ? { accept: 'application/json' } : {}),
          ...(way === 'POST with the body' ? { 'content-type': 'text/plain' } : {}),
        },
        ...(way === 'POST with the body' ? { body: state } : {}),
      });
      if (way !== 'JSON') {
        expect([way, answer.status, answer.headers.location]).toEqual([way, 307, `/api/v1/execution/${id}`]);
        continue;
      }
      expect(JSON.parse(answer.body)).toEqual({
        workflow_id: id,
        status: 'completed',
        output: { approved: false, session_created: false },
      });
    }
  });
});

describe('Versioning', () => {
  it('1. All paths are under the prefix that apiBasePath names', async () => {
    expect((await get('/.well-known/api-configuration')).json.apiBasePath).toBe('/api/v1');
    expect((await send(`${world.url}/roles`, { headers: { authorization: `Bearer ${requester}` } })).status).toBe(404);
  });

  it('2. Lists and the API configuration carry a version of three numbers', async () => {
    for (const path of ['/providers', '/roles', '/workflows', '/sessions', '/provider/store/roles']) {
      expect([path, (await get(path, requester)).json.version]).toEqual([
        path,
        expect.stringMatching(/^\d+\.\d+\.\d+$/),
      ]);
    }
    expect((await get('/.well-known/api-configuration')).json.version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('3. The version of health and readiness may be followed by a source revision', async () => {
    for (const path of ['/health', '/ready']) {
      expect((await get(path)).json.version).toMatch(/^\d+\.\d+\.\d+( \(git: \w+\))?$/);
    }
  });

  it('5. The workflow document carries its own dsl and version', async () => {
    const { document } = (await get('/workflow/approve-and-grant', requester)).json;
    expect(document).toMatchObject({ dsl: '1.0.3', version: '1.0.0' });
  });
});
