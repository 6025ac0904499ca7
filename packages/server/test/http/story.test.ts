import { send } from '@belay/testkit/serve';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

const elevateQuery = 'role=reader&provider=store&reason=An%20incident&duration=PT5M';

let world: World;
let requester: string;
let approver: string;
let bystander: string;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  approver = await world.token('approver');
  bystander = await world.token('bystander');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

const ask = async (token = requester, headers: Record<string, string> = {}, reason = 'An incident') => {
  const answer = await call('POST', '/elevate', { token, headers, body: { role: 'reader', reason } });
  const { output } = answer.json as { output?: { execution_id: string } };
  return { ...answer, id: output?.execution_id ?? '' };
};

describe('elevation', () => {
  it('answers the same to the static GET, the JSON body with a role’s name, and one with a Role object', async () => {
    const roleObject = (await call('GET', '/role/reader', { token: requester })).json;
    for (const answer of [
      await call('GET', `/elevate?${elevateQuery}&identities=rita%40example.test`, { token: requester }),
      await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: 'An incident' } }),
      await call('POST', '/elevate', { token: requester, body: { role: roleObject, reason: 'An incident' } }),
    ]) {
      expect([answer.status, answer.json]).toMatchObject([200, { status: 'pending' }]);
    }
  });

  it('rejects a Role object that exceeds the server’s own, naming each field', async () => {
    const body = {
      role: {
        name: 'reader',
        providers: ['store', 'hidden'],
        workflows: ['other'],
        max_duration: 'PT99H',
        grants: [{ provider: 'store', access: { role: 'write' } }],
      },
      reason: 'An incident',
    };
    const answer = await call('POST', '/elevate', { token: requester, body });
    expect(answer.status).toBe(400);
    const issues = answer.json.issues as { path: string }[];
    expect(issues.map(({ path }) => path)).toEqual([
      'role.providers[1]',
      'role.workflows[0]',
      'role.grants[0]',
      'role.max_duration',
    ]);
    const unknownField = { role: { name: 'reader', owner: true }, reason: 'An incident' };
    expect((await call('POST', '/elevate', { token: requester, body: unknownField })).status).toBe(400);
  });

  it('tells 400 with issues for a wrong request, 404 for a role one may not see', async () => {
    const wrong = await call('GET', '/elevate?role=reader&reason=x', { token: requester });
    expect([wrong.status, wrong.json]).toMatchObject([400, { code: 'BAD_REQUEST', issues: [{ path: 'provider' }] }]);
    const long = await call('POST', '/elevate', {
      token: requester,
      body: { role: 'reader', reason: 'x', duration: 'P9D' },
    });
    expect([long.status, long.json]).toMatchObject([400, { issues: [{ path: 'duration' }] }]);
    for (const role of ['secret', 'no-such-role']) {
      const answer = await call('POST', '/elevate', { token: requester, body: { role, reason: 'x' } });
      expect([role, answer.status]).toEqual([role, 404]);
    }
  });

  it('gives the same execution for the same Idempotency-Key and body, and 409 for another body', async () => {
    const headers = { 'idempotency-key': 'key-1' };
    const first = await ask(requester, headers);
    expect((await ask(requester, headers)).id).toBe(first.id);
    expect((await ask(requester, headers, 'Something else')).status).toBe(409);
    expect((await ask(requester, { 'idempotency-key': 'has a space' })).json).toMatchObject({
      issues: [{ path: 'Idempotency-Key' }],
    });
  });
});

describe('text that cannot be stored', () => {
  it('is rejected before a database has to', async () => {
    const { id } = await ask();
    const signal = (data: unknown) =>
      call('POST', `/execution/${id}/signal/token`, { token: requester, body: { type: 'a', data } });
    expect((await ask(requester, {}, 'a\0b')).status).toBe(400);
    expect((await ask(requester, {}, 'a\ud800b')).status).toBe(400);
    expect((await call('GET', '/logs?provider=%00', { token: requester })).status).toBe(400);
    expect((await call('GET', '/execution/%00', { token: requester })).status).toBe(400);
    expect((await signal({ a: ['x\0'] })).status).toBe(400);
    expect((await signal({ 'k\0': 1 })).status).toBe(400);
    expect((await signal({ a: ['fine \u{1f600}'] })).status).toBe(200);
  });
});

describe('executions', () => {
  it('are for the owner: others see nothing, approvers may look and not touch', async () => {
    const { id } = await ask();
    await world.drive();
    expect((await call('GET', `/execution/${id}`, { token: bystander })).status).toBe(404);
    expect((await call('GET', `/execution/${id}`, { token: approver })).status).toBe(200);
    for (const verb of ['cancel', 'terminate']) {
      expect((await call('GET', `/execution/${id}/${verb}`, { token: bystander })).status).toBe(404);
      expect((await call('GET', `/execution/${id}/${verb}`, { token: approver })).status).toBe(403);
    }
    expect((await call('GET', `/execution/${id}/cancel`, { token: requester })).json).toMatchObject({ status: 'ok' });
    await world.drive();
    expect((await call('GET', `/execution/${id}/cancel`, { token: requester })).status).toBe(409);
  });

  it('reject a signal that this service did not seal', async () => {
    const { id } = await ask();
    const answer = await call('GET', `/execution/${id}/signal?input=forged`, { token: requester });
    expect(answer.status).toBe(400);
    expect((await call('GET', `/execution/${id}/signal`, { token: requester })).json).toMatchObject({
      issues: [{ path: 'input' }],
    });
  });
});

describe('a signal', () => {
  const seal = async (token: string, id: string, body: object) =>
    call('POST', `/execution/${id}/signal/token`, { token, body });

  it('carries an approver’s decision, sealed by this service for one person', async () => {
    const { id } = await ask();
    await world.drive();
    const decision = { type: 'belay.approval.decided', data: { approved: true } };
    expect((await seal(bystander, id, decision)).status).toBe(404);
    const sealed = await seal(approver, id, decision);
    const input = encodeURIComponent(String(sealed.json.input));
    expect((await call('GET', `/execution/${id}/signal?input=${input}`, { token: requester })).status).toBe(403);
    const sent = await call('GET', `/execution/${id}/signal?input=${input}`, { token: approver });
    expect([sent.status, sent.json]).toEqual([200, { message: expect.any(String), workflow_id: id }]);
    expect((await call('GET', `/execution/${id}/signal?input=${input}`, { token: approver })).status).toBe(409);
    await call('GET', `/execution/${id}/cancel`, { token: requester });
    await world.drive();
  });
});

describe('a watch', () => {
  it('tells every event once, goes on after the last one seen, and ends when nothing more can happen', async () => {
    const { id } = await ask();
    const watch = async (lastEventId?: string) => {
      const query = encodeURIComponent(JSON.stringify({ id }));
      const response = await fetch(`${world.url}/trpc/executions.watch?input=${query}`, {
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${requester}`,
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
      });
      const text = await response.text();
      return { text, ids: [...text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1] ?? '') };
    };
    const watching = watch();
    await call('GET', `/execution/${id}/cancel`, { token: requester });
    await world.drive();
    const { text, ids } = await watching;
    expect(text).toContain('elevation.requested');
    expect(text).toContain('event: return');
    expect(new Set(ids).size).toBe(ids.length);
    expect((await watch(ids[0])).ids).toEqual(ids.slice(1));
  });

  it('of an execution one may not see is an error that says not found', async () => {
    const { id } = await ask();
    const query = encodeURIComponent(JSON.stringify({ id }));
    const response = await fetch(`${world.url}/trpc/executions.watch?input=${query}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${bystander}` },
    });
    expect(await response.text()).toMatch(/event: serialized-error\ndata: .*"reason":"not_found"/);
  });
});

describe('logins', () => {
  it('that arrive together are told apart, and one that has ended is rejected for all', async () => {
    const whoami = async (token: string) => (await call('GET', '/auth/whoami', { token })).json.email;
    const tokens = [requester, approver, requester, bystander, approver];
    const emails = await Promise.all(tokens.map(whoami));
    expect(emails).toEqual(['rita', 'adam', 'rita', 'bo', 'adam'].map((name) => `${name}@example.test`));
    const leaving = await world.token('requester');
    expect((await call('GET', '/auth/logout', { token: leaving })).status).toBe(200);
    const after = await Promise.all(Array.from({ length: 8 }, () => call('GET', '/roles', { token: leaving })));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
  });
});

describe('a process that is asked to stop', () => {
  it('says at once that it is not ready, and keeps no connection', async () => {
    await using stopping = await createWorld();
    expect((await send(`${stopping.url}/ready`)).status).toBe(200);
    stopping.drain();
    const answer = await send(`${stopping.url}/ready`);
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([503, { status: 'not ready' }]);
    expect(answer.headers.connection).toBe('close');
    expect((await send(`${stopping.url}/health`)).status).toBe(200);
  });

  it('answers a call that waits for a request with its state when the port is about to close', async () => {
    await using stopping = await createWorld();
    const token = await stopping.token('requester');
    const send = (method: string, path: string) => callRest(stopping.url, method, path, { token });
    const { output } = (await send('GET', `/elevate?${elevateQuery}`)).json as { output: { execution_id: string } };
    const began = performance.now();
    const waiting = send('GET', `/execution/${output.execution_id}?until=ended&wait=PT30S`);
    await expect.poll(() => stopping.database.sql`select from watches`).toHaveLength(1);
    stopping.endWaits();
    const { status, json } = await waiting;
    expect([status, json]).toMatchObject([200, { status: 'waiting' }]);
    // A call that begins afterwards does not wait either.
    const later = await send('GET', `/execution/${output.execution_id}?until=ended&wait=PT30S`);
    expect([later.status, later.json]).toMatchObject([200, { status: 'waiting' }]);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe('the story', () => {
  it('goes from the request over the approval to access, and back', async () => {
    const { id } = await ask();
    await world.drive();
    const inbox = (await call('GET', '/approvals', { token: approver })).json.approvals as {
      id: string;
      execution_id: string;
      request_digest: string;
    }[];
    const item = inbox.find((each) => each.execution_id === id);
    expect(item).toMatchObject({
      requester: { email: people.requester.email },
      role: 'reader',
      grants: [{ provider: 'store', identity: people.requester.email, access: { role: 'read' } }],
    });
    const decision = { verdict: 'approve', request_digest: item?.request_digest };
    const decide = (token: string, body: object) => call('POST', `/approvals/${item?.id}/decision`, { token, body });
    expect((await decide(requester, decision)).status).toBe(403);
    expect((await decide(bystander, decision)).status).toBe(404);
    expect((await decide(approver, { ...decision, request_digest: 'another' })).status).toBe(409);
    expect((await decide(approver, { verdict: 'perhaps' })).status).toBe(400);
    const decided = await decide(approver, decision);
    const only = { stage: 1, stages: 1 };
    expect([decided.status, decided.json]).toEqual([
      200,
      { id: item?.id, status: 'approved', execution_id: id, ...only },
    ]);
    expect((await decide(approver, decision)).status).toBe(409);
    await world.drive();
    expect(world.store.holds(people.requester.email, { role: 'read' })).toBe(true);
    const held = (await call('GET', '/access', { token: requester })).json.access as {
      execution_id: string;
      state: string;
    }[];
    expect(held.filter((each) => each.execution_id === id)).toMatchObject([{ state: 'active', role: 'reader' }]);
    expect((await call('POST', `/access/${id}/return`, { token: approver })).status).toBe(403);
    expect((await call('POST', `/access/${id}/return`, { token: requester })).json).toMatchObject({ status: 'ok' });
    await world.drive();
    expect(world.store.holds(people.requester.email, { role: 'read' })).toBe(false);
    expect((await call('POST', `/access/${id}/return`, { token: requester })).status).toBe(409);
  });
});

describe('logs', () => {
  it('are at most 500, of the caller only, and filtered', async () => {
    await ask();
    expect((await call('GET', '/logs?limit=501', { token: requester })).status).toBe(400);
    const one = (await call('GET', '/logs?limit=1', { token: requester })).json.logs as unknown[];
    expect(one).toHaveLength(1);
    const others = (await call('GET', '/logs', { token: bystander })).json.logs as { user: string }[];
    // Entries that concern no person are visible to all people, for example the activation of a configuration.
    expect(others.every(({ user }) => [people.bystander.email, ''].includes(user))).toBe(true);
  });
});
