import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const ticketed = {
    workflow: {
      document: { dsl: '1.0.3', namespace: 'test', name: 'ticketed', version: '1.0.0' },
      input: {
        schema: {
          format: 'json',
          document: {
            type: 'object',
            required: ['ticket'],
            properties: { reason: { pattern: '^OPS-' }, duration: { enum: ['PT5M', 'PT10M'] } },
          },
        },
      },
      do: [{ validate: { call: 'access.validate' } }],
    },
  };
  const lenient = structuredClone(ticketed);
  lenient.workflow.document.name = 'lenient';
  lenient.workflow.input.schema.document.required = [];
  const role = { ...document.roles?.reader, workflows: ['ticketed', 'lenient'] };
  const input = {
    document: {
      ...document,
      roles: { ...document.roles, ticketed: role },
      workflows: { ...document.workflows, ticketed, lenient },
    },
    source: 'test',
  };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  await applyCatalog(world.context.db, input, { connectors, resolve: () => undefined });
  await catalog.refresh();
});
afterAll(() => world[Symbol.asyncDispose]());

const faults = (prefix: string) => [
  { path: `${prefix}ticket`, message: 'is required' },
  { path: `${prefix}reason`, message: 'must match pattern "^OPS-"' },
  { path: `${prefix}duration`, message: 'must be one of PT5M, PT10M' },
];

it('what a workflow demands of its input is demanded by POST /execution and by both /elevate, each naming its own field', async () => {
  const token = await world.token('requester');
  const asked = { role: 'ticketed', reason: 'because', duration: 'PT15M' };
  const started = await callRest(world.url, 'POST', '/execution', {
    token,
    body: { workflow: 'ticketed', input: { ...asked, provider: 'store' } },
  });
  expect([started.status, started.json.issues]).toEqual([400, faults('input.')]);
  const posted = await callRest(world.url, 'POST', '/elevate', { token, body: { ...asked, providers: ['store'] } });
  expect([posted.status, posted.json.issues]).toEqual([400, faults('')]);
  const query = new URLSearchParams({ ...asked, provider: 'store' });
  const linked = await callRest(world.url, 'GET', `/elevate?${query}`, { token });
  expect([linked.status, linked.json.issues]).toEqual([400, faults('')]);

  const fits = { role: 'ticketed', provider: 'store', reason: 'OPS-1', duration: 'PT5M' };
  const ran = await callRest(world.url, 'POST', '/execution', { token, body: { workflow: 'lenient', input: fits } });
  expect([ran.status, ran.json.status]).toEqual([200, 'pending']);
  const elsewhere = await callRest(world.url, 'POST', '/execution', { token, body: { workflow: 'none', input: fits } });
  expect([elsewhere.status, elsewhere.json.issues]).toMatchObject([400, [{ path: 'workflow' }]]);
});

it('and the form that came back has each fault at its field', async () => {
  const token = await world.token('requester');
  const headers = { cookie: `belay=${token}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
  const page = await send(`${world.url}/api/v1/role/ticketed`, { headers });
  const csrf_token = /action="\/api\/v1\/elevate"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"/.exec(
    page.body,
  )?.[1];
  const answer = await send(`${world.url}/api/v1/elevate`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      role: 'ticketed',
      providers: 'store',
      workflow: 'lenient',
      reason: 'because',
      duration: 'PT5M',
      csrf_token: csrf_token ?? '',
    }).toString(),
  });
  expect(answer.status).toBe(400);
  expect(answer.body).toMatch(/<a href="#reason">Reason<\/a>: must match pattern/);
  expect(answer.body).toMatch(/id="reason"[^>]*aria-invalid="true"/);
});
