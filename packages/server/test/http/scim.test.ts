import { createLogin, createProvisioningToken, upsertUser, withActor } from '@belay/core';
import { newId } from '@belay/testkit/house';
import { type Answer, send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { openQueueBackend, startWorker } from '@belay/worker';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callRest } from './support/caller.js';

/** Creates a server in which the directories of two sign-in providers may provision people. */
const openWorld = (limits = {}) =>
  createWorld({
    limits: { bodyBytes: 100_000, ...limits },
    change: (document) => {
      const demo = { ...document.providers.demo, scim: { groups: 'sign_in' }, trusted_email_domains: ['example.test'] };
      const other = { ...demo, scim: {}, trusted_email_domains: ['example.org'] };
      return { ...document, providers: { ...document.providers, demo, other } };
    },
  });

const tokenOf = async (world: World, provider: string) =>
  (
    await createProvisioningToken(withActor(world.context, { kind: 'operator', name: 'test' }), {
      provider,
      ttl: 'P1D',
    })
  ).token;

interface Call {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

function call(world: World, method: string, path: string, { token, body, headers }: Call = {}): Promise<Answer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const length: Record<string, string> = text === undefined ? {} : { 'content-length': `${Buffer.byteLength(text)}` };
  return send(`${world.url}/scim/v2${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/scim+json',
      ...length,
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  });
}

const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});
const eventually = { timeout: 30_000 };
const error = (status: number) =>
  expect.objectContaining({ schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: `${status}` });

describe('SCIM at the server', () => {
  let world: World;
  let token: string;
  beforeAll(async () => {
    world = await openWorld();
    token = await tokenOf(world, 'demo');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const add = async (person: { subject: string; email: string }) => {
    const body = { userName: person.email, externalId: person.subject, active: true };
    const made = await call(world, 'POST', '/Users', { token, body });
    expect(made.status, made.body).toBe(201);
    return String(JSON.parse(made.body).id);
  };

  it('is answered beside the interface, to the token of a directory and to no other login', async () => {
    const { status, headers } = await call(world, 'GET', '/ServiceProviderConfig', { token });
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('application/scim+json')]);
    const login = await world.token('approver');
    for (const wrong of [undefined, '', login, `${token}x`, token.slice(0, -1), token.toUpperCase()]) {
      const refused = await call(world, 'GET', '/Users', wrong === undefined ? {} : { token: wrong });
      expect([refused.status, JSON.parse(refused.body)]).toEqual([401, error(401)]);
    }
  });

  it('shows a directory nothing of another one, and lets it change nothing there', async () => {
    const id = await add({ subject: 'u-anna', email: 'anna@example.test' });
    const foreign = await tokenOf(world, 'other');
    const off = patch({ op: 'replace', path: 'active', value: false });
    for (const [method, body] of [
      ['GET'],
      ['PATCH', off],
      ['PUT', { userName: 'x', active: false }],
      ['DELETE'],
    ] as const) {
      const refused = await call(world, method, `/Users/${id}`, { token: foreign, body });
      expect([method, refused.status]).toEqual([method, 404]);
    }
    const { body } = await call(world, 'GET', `/Users/${id}`, { token });
    expect(JSON.parse(body)).toMatchObject({ active: true });
  });

  it('rejects bodies that are too large or of another type, and filters that are long, at once', async () => {
    const large = await call(world, 'POST', '/Users', {
      token,
      body: `{"userName":"${'x'.repeat(10_000_000)}"}`,
    }).catch(({ code }) => ({ status: code }));
    // The connection may be closed before the whole body was sent.
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(large.status);
    const typed = await call(world, 'POST', '/Users', { token, body: 'a', headers: { 'content-type': 'text/plain' } });
    expect(typed.status).toBe(415);
    const began = Date.now();
    for (const filter of [`${'a eq "b" and '.repeat(1_000)}c eq "d"`, `userName eq "${'\\'.repeat(5_000)}`]) {
      const path = `/Users?filter=${encodeURIComponent(filter)}`;
      expect([400, 414, 431]).toContain((await call(world, 'GET', path, { token })).status);
    }
    const path = `emails[${'('.repeat(20_000)}].value`;
    const id = await add({ subject: 'u-long', email: 'long@example.test' });
    const refused = await call(world, 'PATCH', `/Users/${id}`, { token, body: patch({ op: 'add', path, value: 'x' }) });
    expect([refused.status, JSON.parse(refused.body)]).toEqual([400, error(400)]);
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it('reads the patches that Entra sends, with filtered paths and a deactivation among them', async () => {
    const id = await add({ subject: 'u-ines', email: 'ines@example.test' });
    const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
    const updated = await call(world, 'PATCH', `/Users/${id}`, {
      token,
      body: patch(
        { op: 'Add', path: 'emails[type eq "work"].value', value: 'ines.new@example.test' },
        { op: 'Replace', path: 'name.familyName', value: 'Iriarte' },
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555' },
        { op: 'Add', path: 'addresses[type eq "work"].formatted', value: 'A street' },
        { op: 'Add', path: 'roles[primary eq "True"].value', value: 'User' },
        { op: 'Add', path: `${enterprise}:department`, value: 'Shop' },
        { op: 'Replace', path: `${enterprise}:manager`, value: '26118915-6090-4610-87e4-49d8ca9f808d' },
      ),
    });
    expect(updated.status, updated.body).toBe(200);
    expect(JSON.parse(updated.body)).toMatchObject({
      active: true,
      name: { familyName: 'Iriarte' },
      emails: [expect.objectContaining({ value: 'ines.new@example.test' })],
    });
    const left = await call(world, 'PATCH', `/Users/${id}`, {
      token,
      body: patch(
        { op: 'Replace', path: 'displayName', value: 'Ines' },
        { op: 'Replace', path: 'active', value: 'False' },
      ),
    });
    expect([left.status, JSON.parse(left.body)]).toEqual([200, expect.objectContaining({ active: false })]);
  });

  it('rejects the sign-in of a person whom the directory has deactivated', async () => {
    const id = await add(people.bystander);
    const before = openVisitor(world.url);
    await before.signIn('demo', people.bystander.subject);
    expect((await before.visit('/auth/whoami')).status).toBe(200);
    const body = patch({ op: 'Replace', path: 'active', value: 'False' });
    expect((await call(world, 'PATCH', `/Users/${id}`, { token, body })).status).toBe(200);
    const visitor = openVisitor(world.url);
    await visitor.signIn('demo', people.bystander.subject);
    for (const each of [before, visitor]) expect((await each.visit('/auth/whoami')).status).toBe(401);
  });

  it('leaves no access to a person who leaves while an approver approves, with a worker running', async () => {
    const id = await add(people.requester);
    const backend = await openQueueBackend({ databaseUrl: world.database.url, log: world.context.log });
    const worker = await startWorker({ context: world.context, backend, sweepMilliseconds: 100 });
    try {
      const ask = async () => {
        const known = { id: newId(), provider: 'demo', ...people.requester, groups: [...people.requester.groups] };
        const user = await upsertUser(world.database.db, known);
        const login = (await createLogin(world.context, { user, kind: 'device' })).token;
        const asked = { role: 'reader', reason: 'a ticket' };
        const { status, body, json } = await callRest(world.url, 'POST', '/elevate', { token: login, body: asked });
        expect(status, body).toBe(200);
        return { login, id: String((json as { output: { execution_id: string } }).output.execution_id) };
      };
      const approver = await world.token('approver', 'device');
      const [held, waiting] = [await ask(), await ask()];
      const approve = async (request: { id: string }) =>
        callRest(world.url, 'POST', `/approvals/${request.id}/decision`, {
          token: approver,
          body: { verdict: 'approve' },
        });
      await vi.waitFor(
        async () => expect(await world.database.sql`select id from approvals`).toHaveLength(2),
        eventually,
      );
      expect((await approve(held)).status).toBe(200);
      await vi.waitFor(() => expect(world.store.held()).toHaveLength(1), eventually);
      const body = patch({ op: 'Replace', path: 'active', value: 'False' });
      const [left] = await Promise.all([call(world, 'PATCH', `/Users/${id}`, { token, body }), approve(waiting)]);
      expect(left.status).toBe(200);
      await vi.waitFor(() => expect(world.store.held()).toEqual([]), eventually);
      const settled = async () =>
        world.database.sql`select count(*)::int as live from grants where ended_at is null and gone_at is null`;
      expect(await settled()).toEqual([{ live: 0 }]);
      const open = await world.database.sql`select id from executions where ended_at is null`;
      expect(open).toEqual([]);
      expect((await callRest(world.url, 'GET', '/auth/whoami', { token: held.login })).status).toBe(401);
    } finally {
      await worker.stop({ graceMilliseconds: 1_000 });
      await backend.close();
    }
  });
});

describe('the rate limit', () => {
  it('counts directories, and answers in their own errors', async () => {
    await using world = await openWorld({ requests: 2, windowMilliseconds: 30_000 });
    const token = await tokenOf(world, 'demo');
    const get = () => call(world, 'GET', '/Users', { token });
    expect([(await get()).status, (await get()).status]).toEqual([200, 200]);
    const refused = await get();
    expect([refused.status, refused.headers['retry-after'], JSON.parse(refused.body)]).toEqual([429, '30', error(429)]);
    expect(refused.headers['content-type']).toContain('application/scim+json');
  });
});
