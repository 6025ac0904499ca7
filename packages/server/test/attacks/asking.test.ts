import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks by requesters: no request may get more than the configuration allows. */

let world: World;
let requester: string;
let bystander: string;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  bystander = await world.token('bystander');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const elevate = (token: string, body: object) => call('POST', '/elevate', { token, body });
const running = async (token: string) => {
  const { executions } = (await call('GET', '/executions', { token })).json as { executions: { run_id: string }[] };
  return executions.map(({ run_id }) => run_id);
};

describe('a role that the client supplies', () => {
  it('is looked up by its name; the definition that came with it counts for nothing', async () => {
    const stolen = {
      name: 'secret',
      description: 'mine now',
      providers: ['store'],
      workflows: ['approve-and-grant'],
      enabled: true,
      permissions: { users: [people.requester.email], groups: ['engineers'] },
    };
    expect((await elevate(requester, { role: stolen, reason: 'x' })).status).toBe(404);
    const widened = { name: 'reader', providers: ['store', 'hidden'], workflows: ['anything'], enabled: true };
    const answer = await elevate(requester, { role: widened, reason: 'x' });
    const paths = (answer.json.issues as { path: string }[]).map(({ path }) => path);
    expect([answer.status, paths]).toEqual([400, ['role.providers[1]', 'role.workflows[0]']]);
    expect(await running(requester)).toEqual([]);
  });

  it('that is honest grants what the server’s own definition says, and the approver sees that', async () => {
    const honest = (await call('GET', '/role/reader', { token: requester })).json;
    expect((await elevate(requester, { role: { ...honest, description: 'Only a little' }, reason: 'x' })).status).toBe(
      200,
    );
    await world.drive();
    const approver = await world.token('approver');
    const [item] = (await call('GET', '/approvals', { token: approver })).json.approvals as object[];
    expect(item).toMatchObject({ role: 'reader', grants: [{ provider: 'store', access: { role: 'read' } }] });
    expect(JSON.stringify(item)).not.toContain('Only a little');
  });
});

describe('a request outside its scope', () => {
  it.each([
    ['a role that one may not request', { role: 'secret' }, 404],
    ['a provider that the role does not have', { role: 'reader', providers: ['hidden'] }, 400],
    ['a workflow that the role does not have', { role: 'reader', workflow: 'other' }, 400],
    ['a time beyond the role’s longest', { role: 'reader', duration: 'PT2H' }, 400],
    ['no time at all', { role: 'reader', duration: 'PT0S' }, 400],
    ['a time before now', { role: 'reader', duration: '-PT1H' }, 400],
    ['fields that widen', { role: 'reader', permissions: ['*'] }, 400],
    ['a decision of one’s own', { role: 'reader', approved: true }, 400],
  ])('with %s is rejected', async (_, body, status) => {
    const before = await running(requester);
    expect((await elevate(requester, { reason: 'x', ...body })).status).toBe(status);
    expect(await running(requester)).toEqual(before);
  });

  it('by a person outside the role’s groups is rejected by every endpoint', async () => {
    const query = 'role=reader&provider=store&reason=x';
    const execution = { workflow: 'approve-and-grant', input: { role: 'reader', provider: 'store', reason: 'x' } };
    expect((await elevate(bystander, { role: 'reader', reason: 'x' })).status).toBe(404);
    expect((await call('GET', `/elevate?${query}`, { token: bystander })).status).toBe(404);
    expect((await call('POST', '/execution', { token: bystander, body: execution })).status).toBe(404);
    expect(await running(bystander)).toEqual([]);
  });
});

describe('an identity of another person', () => {
  it('is rejected unless the role lets its people request for others', async () => {
    const named = { role: 'reader', reason: 'x', identities: [people.approver.email] };
    expect((await elevate(requester, named)).status).toBe(403);
    const both = { ...named, identities: [people.requester.email, people.approver.email] };
    expect((await elevate(requester, both)).status).toBe(403);
    const query = `role=reader&provider=store&reason=x&identities=${encodeURIComponent(people.approver.email)}`;
    expect((await call('GET', `/elevate?${query}`, { token: requester })).status).toBe(403);
    const unknown = await elevate(requester, { role: 'reader', reason: 'x', identities: ['nobody@example.test'] });
    expect([400, 403]).toContain(unknown.status);
  });
});

describe('injection through names', () => {
  const names = [
    "reader' or '1'='1",
    'reader"; drop table executions; --',
    "reader'); delete from grants; --",
    'reader\\',
    '.[] | input',
    '${ .secrets }',
    '$__prog_args',
    '" + env.PATH + "',
    '%(reader)s',
    '{{ reader }}',
    '__proto__',
    'constructor.prototype',
  ];

  it.each(names)('finds nothing and breaks nothing: %s', async (name) => {
    const path = encodeURIComponent(name);
    for (const address of [`/role/${path}`, `/workflow/${path}`, `/provider/${path}`, `/execution/${path}`]) {
      expect([address, (await call('GET', address, { token: requester })).status]).toEqual([address, 404]);
    }
    expect((await elevate(requester, { role: name, reason: 'x' })).status).toBe(404);
    const lists = [
      `/roles?provider=${path}`,
      `/provider/store/roles?q=${path}`,
      `/provider/store/identities?q=${path}`,
    ];
    for (const address of [...lists, `/logs?provider=${path}&type=${path}`]) {
      expect([address, (await call('GET', address, { token: requester })).status]).toEqual([address, 200]);
    }
    expect((await call('GET', '/roles', { token: requester })).json.roles).toHaveProperty('reader');
  });

  it('through the reason is shown as text to every reader', async () => {
    const reason = '${ .role = "secret" } \'; update users set groups = \'["approvers"]\'; -- {{7*7}}';
    const asked = await elevate(requester, { role: 'reader', reason });
    expect(asked.status).toBe(200);
    await world.drive();
    const { execution_id: id } = asked.json.output as { execution_id: string };
    const execution = (await call('GET', `/execution/${id}`, { token: requester })).json;
    expect(execution.input).toMatchObject({ role: 'reader', reason });
    expect((await call('GET', '/auth/whoami', { token: requester })).json.groups).toEqual(['engineers']);
  });
});

describe('a shell from a workflow', () => {
  it.each([
    ['run: shell', { run: { shell: { command: 'touch "$MARK"' } } }],
    ['run: script', { run: { script: { language: 'javascript', code: 'process.exit(1)' } } }],
    ['run: container', { run: { container: { image: 'alpine' } } }],
    ['a function that is not there', { call: 'shell', with: { command: 'id' } }],
  ])('cannot be had: %s is rejected when the catalog is applied', async (_, task) => {
    const { document } = world.context.catalog.current();
    const workflow = {
      document: { dsl: '1.0.3', namespace: 'test', name: 'evil', version: '1.0.0' },
      do: [{ evil: task }],
    };
    const applied = applyCatalog(
      world.context.db,
      { document: { ...document, workflows: { ...document.workflows, evil: { workflow } } }, source: 'test' },
      { connectors: createRegistry([oidcConnector, createMemoryConnector(world.store)]), resolve: () => undefined },
    );
    await expect(applied).rejects.toMatchObject({ code: 'invalid' });
  });

  it('cannot be had from an expression: no process, no file, no environment', async () => {
    const mark = join(tmpdir(), `belay-mark-${world.context.newId()}`);
    const evaluate = (expression: string) => world.context.evaluate(expression, {}, {});
    for (const expression of [
      `"${mark}" | @sh | system`,
      'input_filename',
      `include "${mark}"; .`,
      'get_search_list',
      '$ENV.PATH',
      'env.PATH',
    ]) {
      const answer = await evaluate(expression).catch((error: unknown) => error);
      const text = answer instanceof Error ? '' : JSON.stringify(answer ?? null);
      expect([expression, text.includes('/')]).toEqual([expression, false]);
    }
    expect(existsSync(mark)).toBe(false);
  });
});

describe('a reason that is made to take for ever', () => {
  it('is answered at once, by the role and by the schema of its workflow, and the service goes on', async () => {
    const catalog = world.context.catalog as LiveCatalog;
    const { document } = catalog.current();
    const reader = document.roles?.reader;
    const schema = { format: 'json', document: { properties: { reason: { pattern: '^(\\w+\\s?)*$' } } } };
    const worded = {
      document: { dsl: '1.0.3', namespace: 'test', name: 'worded', version: '1.0.0' },
      input: { schema },
      do: [{ validate: { call: 'access.validate' } }],
    };
    const roles = {
      ...document.roles,
      ticketed: { ...reader, reason: { pattern: '^([a-z]+)+$' } },
      worded: { ...reader, workflows: ['worded'] },
    };
    const workflows = { ...document.workflows, worded: { workflow: worded } };
    const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
    const changed = { document: { ...document, roles, workflows }, source: 'test' };
    await applyCatalog(world.context.db, changed, { connectors, resolve: () => undefined });
    await catalog.refresh();

    const from = performance.now();
    const reason = `${'a'.repeat(40)}!`;
    const answers = await Promise.all([
      elevate(requester, { role: 'ticketed', reason }),
      elevate(requester, { role: 'worded', reason }),
      call('GET', '/health'),
    ]);
    expect(performance.now() - from).toBeLessThan(30_000);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 200]);
    expect(answers[0]?.json.issues).toMatchObject([{ path: 'reason' }]);
    expect(answers[1]?.json.issues).toMatchObject([{ path: 'reason' }]);
    expect((await elevate(requester, { role: 'ticketed', reason: 'figures' })).status).toBe(200);
  });
});
