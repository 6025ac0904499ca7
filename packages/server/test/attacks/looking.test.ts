import { enrollAgent, withActor } from '@belay/core';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks by readers: what a person may not see gets the same response as what does not exist. */

let world: World;
let requester: string;
let bystander: string;
let id: string;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  bystander = await world.token('bystander');
  const asked = await call('POST', '/elevate', {
    token: requester,
    body: { role: 'reader', reason: 'A quiet matter' },
  });
  id = (asked.json.output as { execution_id: string }).execution_id;
  await world.drive();
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

describe('secrets in what agents register for', () => {
  it('are not there: neither values, nor where they come from', async () => {
    const operator = withActor(world.context, { kind: 'operator', name: 'test' });
    const { credential } = await enrollAgent(operator, { name: 'curious', ttl: 'P1D' });
    const environment = { name: 'curious', description: '' };
    const answer = await call('POST', '/register', { token: credential, body: { environment } });
    expect(answer.status).toBe(200);
    const demo = world.context.catalog.current().providers.get('demo')?.config as Record<string, string>;
    for (const secret of [demo.client_secret, demo.issuer, credential, 'client_', '${env', '${vault', 'config']) {
      expect(answer.body).not.toContain(String(secret));
    }
  });
});

describe('the identities of a provider', () => {
  it('are listed for callers who can request access there; other viewers of the provider get 403', async () => {
    for (const query of ['', '?q=rita', '?limit=1']) {
      const path = `/provider/store/identities${query}`;
      expect((await call('GET', path, { token: requester })).status).toBe(200);
      for (const token of [bystander, await world.token('approver')]) {
        expect((await call('GET', '/provider/store', { token })).status).toBe(200);
        const refused = await call('GET', path, { token });
        expect([refused.status, refused.json.identities]).toEqual([403, undefined]);
      }
    }
  });
});

describe('detail pages without permission', () => {
  const pages = [
    '/role/secret',
    '/provider/hidden',
    '/provider/hidden/roles',
    '/provider/hidden/permissions',
    '/provider/hidden/identities',
  ];

  it.each(pages)('are not found: %s', async (path) => {
    const hidden = await call('GET', path, { token: requester });
    const absent = await call('GET', path.replace(/secret|hidden/, 'no-such-thing'), { token: requester });
    // The same response except for the requested name: it does not tell whether the provider exists.
    const named = (text: string) => text.replaceAll(/secret|hidden|no-such-thing/g, '…');
    expect([hidden.status, named(hidden.body)]).toEqual([404, named(absent.body)]);
    const page = await call('GET', path, { token: requester, headers: { accept: 'text/html' } });
    expect(page.status).not.toBe(200);
    expect((await call('GET', path)).status).toBe(401);
  });

  it('nor do the lists tell of them', async () => {
    for (const path of ['/roles', '/providers', '/workflows', '/elevate/llm']) {
      const { body } = await call('GET', path, { token: requester });
      // The page may contain hidden fields of a form, but not the provider with that name.
      expect([path, /\bsecret\b|(?<!type=)"hidden"/.test(body)]).toEqual([path, false]);
    }
  });
});

describe('an execution of another person', () => {
  it('is neither seen nor listed nor touched', async () => {
    const paths = ['', '/cancel', '/terminate', '/signal'].map((end) => `/execution/${id}${end}`);
    for (const path of paths) {
      const status = path.endsWith('/signal') ? 400 : 404;
      expect([path, (await call('GET', path, { token: bystander })).status]).toEqual([path, status]);
      expect([path, (await call('GET', path)).status]).toEqual([path, 401]);
    }
    const body = { type: 'belay.approval.decided', data: { approved: true } };
    expect((await call('POST', `/execution/${id}/signal/token`, { token: bystander, body })).status).toBe(404);
    expect((await call('POST', `/access/${id}/return`, { token: bystander })).status).toBe(404);
    expect((await call('GET', '/executions', { token: bystander })).json.executions).toEqual([]);
    expect((await call('GET', `/execution/${id}`, { token: requester })).json.status).toBe('waiting');
  });

  it('is not signalled with what was sealed for another execution, nor by another person with the owner’s own', async () => {
    const asked = await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: 'Another' } });
    const { execution_id: other } = asked.json.output as { execution_id: string };
    const body = { type: 'anything', data: {} };
    const sealed = await call('POST', `/execution/${other}/signal/token`, { token: requester, body });
    const input = encodeURIComponent(String(sealed.json.input));
    const signal = (target: string, token: string) =>
      call('GET', `/execution/${target}/signal?input=${input}`, { token });
    expect((await signal(id, requester)).status).toBe(400);
    expect((await signal(other, bystander)).status).toBe(404);
    await world.drive();
    expect((await signal(other, await world.token('approver'))).status).toBe(403);
    expect((await signal(other, requester)).status).toBe(200);
    expect((await signal(other, requester)).status).toBe(409);
  });

  it('is not cancelled by one who may look and decide', async () => {
    const approver = await world.token('approver');
    for (const verb of ['cancel', 'terminate']) {
      expect((await call('GET', `/execution/${id}/${verb}`, { token: approver })).status).toBe(403);
    }
    expect((await call('GET', `/execution/${id}`, { token: requester })).json.status).toBe('waiting');
  });
});

describe('the log of others', () => {
  it('contains only the caller’s entries, with any filter', async () => {
    const filters = [
      '',
      `?user=${encodeURIComponent(people.requester.email)}`,
      `?workflow_id=${id}`,
      '?provider=store',
      '?type=elevation.requested',
    ];
    for (const path of ['/logs', '/logs/export']) {
      for (const filter of filters) {
        const { status, body } = await call('GET', `${path}${filter}`, { token: bystander });
        expect([path, filter, status, body.includes('A quiet matter'), body.includes(id)]).toEqual([
          path,
          filter,
          200,
          false,
          false,
        ]);
        expect([path, filter, body.includes(people.requester.email)]).toEqual([path, filter, false]);
      }
      expect((await call('GET', path)).status).toBe(401);
    }
    expect((await call('GET', '/logs', { token: requester })).body).toContain(id);
  });
});
