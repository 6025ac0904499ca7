import { createHash, randomBytes } from 'node:crypto';
import { seal } from '@belay/core';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/**
 * Attacks on sign-in: a login, a session and a state are valid only for the browser and the person that they were issued to.
 */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const rita = people.requester.subject;

async function signInProgram(subject = rita) {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const browser = openVisitor(world.url);
  const query = new URLSearchParams({ callback: 'http://127.0.0.1:5999/done', code_challenge: challenge });
  const begun = await browser.visit(`/auth/request/demo?${query.toString()}`, { site: 'none' });
  const back = await browser.visit(await browser.prove(begun.location, subject), { site: 'cross-site' });
  const code = (await browser.letProgram(back.location)).searchParams.get('code') ?? '';
  const exchanged = await call('POST', '/auth/token', { body: { code, code_verifier: verifier } });
  return { code, verifier, ...(exchanged.json as { token: string; session: { session: string } }) };
}

describe('a session sent to any callback', () => {
  it.each([
    'https://evil.example/back',
    'http://127.0.0.1.evil.example/back',
    'http://127.0.0.1@evil.example/back',
    '//evil.example/back',
    '/\\evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'http://localhost.evil.example:8080/',
    'https://[::1].evil.example/',
  ])('is rejected before anything begins: %s', async (callback) => {
    const browser = openVisitor(world.url);
    const begun = await browser.visit(`/auth/request/demo?${new URLSearchParams({ callback }).toString()}`);
    expect([begun.status, begun.location]).toEqual([400, '']);
    const page = await browser.visit(`/auth?${new URLSearchParams({ callback, provider: 'demo' }).toString()}`);
    expect([400, 302]).toContain(page.status);
    expect(page.location).not.toMatch(/^(?:https?:)?\/\/(?!127\.0\.0\.1:)/);
    const { token } = await signInProgram();
    const body = { scopes: ['openid'], state: 'x', redirect_uri: callback };
    expect((await call('POST', '/provider/demo/authorizeSession', { token, body })).status).toBe(400);
  });

  it('carries a code that is worth nothing without the verifier, and only once with it', async () => {
    const { code, verifier } = await signInProgram();
    const exchange = (body: object) => call('POST', '/auth/token', { body });
    const wrong = await exchange({ code, code_verifier: randomBytes(32).toString('base64url') });
    expect([wrong.status, wrong.json.token]).toEqual([403, undefined]);
    const again = await exchange({ code, code_verifier: verifier });
    expect([again.status, again.json.token]).toEqual([403, undefined]);
  });
});

describe('a state that is not bound to the browser', () => {
  it('is rejected in another browser, which is not signed in by it', async () => {
    const attacker = openVisitor(world.url);
    const begun = await attacker.visit('/auth/request/demo');
    const answer = await attacker.prove(begun.location, people.bystander.subject);
    const victim = openVisitor(world.url);
    await victim.visit('/auth/request/demo');
    expect((await victim.visit(answer, { site: 'cross-site' })).status).toBe(400);
    expect((await openVisitor(world.url).visit(answer, { site: 'cross-site' })).status).toBe(400);
    expect((await victim.visit('/auth/whoami')).status).toBe(401);
  });
});

describe('a replayed or expired state', () => {
  it('of a sign-in is good once', async () => {
    const browser = openVisitor(world.url);
    const begun = await browser.visit('/auth/request/demo');
    const answer = await browser.prove(begun.location, rita);
    expect((await browser.visit(answer, { site: 'cross-site' })).status).toBe(200);
    expect((await browser.visit(answer, { site: 'cross-site' })).status).toBe(400);
  });

  it('of a workflow is rejected when its time is over, when it is of another purpose, and when a bit was changed', async () => {
    const token = await world.token('approver');
    const now = world.context.clock();
    const payload = { executionId: 'x', userId: 'y', verdict: 'approve', requestDigest: 'z' };
    const past = new Date(now.getTime() - 7_200_000);
    const expired = await seal(world.context.keyring, 'state', payload, { now: past, lifetime: 3_600_000 });
    const signal = await seal(world.context.keyring, 'signal', payload, { now, lifetime: 3_600_000 });
    const good = await seal(world.context.keyring, 'state', payload, { now, lifetime: 3_600_000 });
    const changed = `${good.slice(0, -4)}${good.at(-4) === 'A' ? 'B' : 'A'}${good.slice(-3)}`;
    for (const state of [expired, signal, changed, good.slice(0, -1), `${good}.`, good.replace('..', '.e30.')]) {
      const asked = await call('GET', `/elevate/resume?state=${encodeURIComponent(state)}`, { token });
      expect([asked.status, asked.headers.location]).toEqual([400, undefined]);
      const raw = await send(`${world.url}/api/v1/elevate/resume`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
        body: state,
      });
      expect(raw.status).toBe(400);
    }
  });
});

describe('a session that is over', () => {
  it('is rejected from the moment that its login has ended, expired or been revoked', async () => {
    const { token, session } = await signInProgram();
    const body = { role: 'reader', reason: 'x', session };
    expect((await call('POST', '/elevate', { token, body })).status).toBe(200);
    const other = (await signInProgram()).token;
    await call('GET', '/auth/logout', { token });
    expect((await call('GET', '/sessions', { token })).status).toBe(401);
    expect((await call('POST', '/elevate', { token: other, body })).status).toBe(401);
  });

  it('is rejected when its time is over, by the clock of the database', async () => {
    await using later = await createWorld();
    const token = await later.token('requester');
    const whoami = () => callRest(later.url, 'GET', '/auth/whoami', { token });
    expect((await whoami()).status).toBe(200);
    await later.database.setTime(new Date(later.context.clock().getTime() + 400 * 24 * 3_600_000));
    expect((await whoami()).status).toBe(401);
  });

  it('that was sealed long ago is rejected for every caller', async () => {
    const { token } = await signInProgram();
    const past = new Date(world.context.clock().getTime() - 86_400_000);
    const old = await seal(world.context.keyring, 'session', { loginId: 'x' }, { now: past, lifetime: 3_600_000 });
    const body = { role: 'reader', reason: 'x', session: { version: 1, expiry: past.toISOString(), session: old } };
    expect([400, 401]).toContain((await call('POST', '/elevate', { token, body })).status);
  });
});

describe('a session planted from another site', () => {
  it('does not come of a sign-in that another site began, nor of its forms', async () => {
    const victim = openVisitor(world.url);
    await victim.signIn('demo', rita);
    const { id } = (await victim.visit('/auth/whoami')).json;
    // The provider's response to the attacker's own sign-in, opened in the victim's browser.
    const attacker = openVisitor(world.url);
    const begun = await attacker.visit('/auth/request/demo');
    const answer = await attacker.prove(begun.location, people.bystander.subject);
    expect((await victim.visit(answer, { site: 'cross-site' })).status).toBe(400);
    expect((await victim.visit('/auth/whoami')).json.id).toBe(id);
    for (const [path, body] of [
      ['/provider/demo/authorizeSession', { scopes: ['openid'], state: 'x', redirect_uri: 'http://127.0.0.1:5/x' }],
      ['/auth/session/demo', {}],
      ['/elevate', { role: 'reader', reason: 'x' }],
    ] as const) {
      expect([path, (await victim.visit(path, { body, site: 'cross-site' })).status]).toEqual([path, 403]);
      expect([path, (await victim.visit(path, { body, site: 'same-site' })).status]).toEqual([path, 403]);
    }
  });
});
