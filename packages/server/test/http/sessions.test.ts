import { createHash, randomBytes } from 'node:crypto';
import { applyCatalog, type LiveCatalog } from '@belay/core';
import { startDemoIdentityProvider } from '@belay/demo';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

let world: World;
let second: Awaited<ReturnType<typeof startDemoIdentityProvider>>;
const rita = { first: 'u-rita', second: 'second-rita' };

/** Creates the world with a second OpenID provider, which knows Rita by another name and address. */
beforeAll(async () => {
  world = await createWorld();
  const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };
  second = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: [
      { subject: rita.second, email: 'rita@home.example', name: 'Rita at home', groups: [] },
      // Claims the address of a person at the other provider.
      { subject: 'second-thief', email: 'adam@example.test', name: 'Not Adam', groups: ['approvers'] },
    ],
    clients: [{ ...client, redirect_uris: [`${world.url}/api/v1/auth/callback/second`] }],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const config = { ...client, issuer: second.issuer, allow_insecure_issuer: true, session_scopes: ['groups'] };
  const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
  await applyCatalog(
    world.context.db,
    {
      document: {
        ...document,
        providers: { ...document.providers, second: { provider: 'oidc', config } },
        server: { ...document.server, callbacks: ['https://tools.example.test/back'] },
      },
      source: 'test',
    },
    { connectors, resolve: () => undefined },
  );
  await catalog.refresh();
});
afterAll(async () => {
  await second.close();
  await world[Symbol.asyncDispose]();
});

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const providersOf = (answer: { json: Record<string, unknown> }) => Object.keys(answer.json.sessions as object);

/** Signs a program in, and returns its token and the session. */
async function signInProgram(provider = 'demo', subject = rita.first) {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const browser = openVisitor(world.url);
  const query = new URLSearchParams({ callback: 'http://127.0.0.1:5999/done', code_challenge: challenge });
  const begun = await browser.visit(`/auth/request/${provider}?${query.toString()}`, { site: 'none' });
  const back = await browser.visit(await browser.prove(begun.location, subject), { site: 'cross-site' });
  const code = (await browser.letProgram(back.location)).searchParams.get('code') ?? '';
  const exchanged = await call('POST', '/auth/token', { body: { code, code_verifier: verifier } });
  expect(exchanged.status).toBe(200);
  return exchanged.json as { token: string; session: { version: number; expiry: string; session: string } };
}

describe('GET /sessions', () => {
  it('lists what is documented, and never a token', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.first);
    const answer = await browser.visit('/sessions');
    expect(answer.json).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      timestamp: expect.stringMatching(/Z$/),
      sessions: { demo: { version: 1, expiry: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) } },
    });
    expect((await call('GET', '/sessions')).status).toBe(401);
  });

  it('has one for each of two providers that are signed in at once, until each is signed out of', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.first);
    const me = (await browser.visit('/auth/whoami')).json;
    const cookie = browser.cookies.get('belay');
    expect((await browser.signIn('second', rita.second)).status).toBe(200);
    expect(browser.cookies.get('belay')).not.toBe(cookie);
    const both = await browser.visit('/auth/whoami');
    expect(both.json).toMatchObject({ id: me.id, provider: 'second', email: 'rita@home.example' });
    expect(providersOf(await browser.visit('/sessions'))).toEqual(['demo', 'second']);

    const out = await browser.visit('/auth/logout/second');
    expect([out.status, typeof out.json.message]).toEqual([200, 'string']);
    expect(providersOf(await browser.visit('/sessions'))).toEqual(['demo']);
    expect((await browser.visit('/auth/whoami')).json).toMatchObject({ id: me.id, provider: 'demo' });
    await browser.visit('/auth/logout/demo');
    expect(browser.cookies.has('belay')).toBe(false);
    expect((await browser.visit('/sessions')).status).toBe(401);
  });

  it('is empty as soon as all logins are signed out, also for a holder of the old cookie', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.first);
    await browser.signIn('second', rita.second);
    const kept = browser.cookies.get('belay') ?? '';
    await browser.visit('/auth/logout');
    browser.cookies.set('belay', kept);
    expect((await browser.visit('/sessions')).status).toBe(401);
  });
});

describe('linking', () => {
  it('does not happen when another site began the sign-in, or its origin is unknown', async () => {
    for (const site of ['cross-site', 'same-site', 'none']) {
      const browser = openVisitor(world.url);
      await browser.signIn('demo', 'u-bo');
      const { id } = (await browser.visit('/auth/whoami')).json;
      await browser.signIn('second', 'second-thief', site);
      expect((await browser.visit('/auth/whoami')).json.id).not.toBe(id);
    }
  });

  it('does not follow from the same address at a provider that is trusted with none', async () => {
    const adam = openVisitor(world.url);
    await adam.signIn('demo', 'u-adam');
    const thief = openVisitor(world.url);
    await thief.signIn('second', 'second-thief');
    const { id, email } = (await thief.visit('/auth/whoami')).json;
    expect(email).toBe('adam@example.test');
    expect(id).not.toBe((await adam.visit('/auth/whoami')).json.id);
  });
});

describe('a session in a request', () => {
  const elevate = (token: string, more: object) =>
    call('POST', '/elevate', { token, body: { role: 'reader', reason: 'An incident', ...more } });
  const query = 'role=reader&provider=store&reason=An%20incident';

  it('is taken in the body and in the query', async () => {
    const { token, session } = await signInProgram();
    expect((await elevate(token, { authenticator: 'demo', session })).status).toBe(200);
    const link = await call('GET', `/elevate?${query}&session=${encodeURIComponent(session.session)}`, { token });
    expect([link.status, link.json.status]).toEqual([200, 'pending']);
  });

  it('is rejected when it is malformed, foreign, of another version or of a login that ended', async () => {
    const { token, session } = await signInProgram();
    const other = await signInProgram('demo', 'u-adam');
    const past = await signInProgram();
    expect((await call('GET', '/auth/logout', { token: past.token })).status).toBe(200);
    const wrong: [object, number][] = [
      [{ ...session, session: 'opaque' }, 400],
      [{ ...session, version: 2 }, 400],
      [{ ...session, expiry: 'soon' }, 400],
      [other.session, 401],
      [past.session, 401],
    ];
    for (const [given, status] of wrong) {
      expect([given, (await elevate(token, { session: given })).status]).toEqual([given, status]);
    }
    for (const [given, status] of [
      ['opaque', 400],
      [other.session.session, 401],
      [past.session.session, 401],
    ] as const) {
      expect((await call('GET', `/elevate?${query}&session=${given}`, { token })).status).toBe(status);
    }
  });

  it('is given to programs only, and is no credential', async () => {
    const { token, session } = await signInProgram();
    const issued = await call('POST', '/auth/session/demo', { token, body: {} });
    expect(issued.json).toMatchObject({ session: { version: 1, expiry: session.expiry } });
    expect((await call('POST', '/auth/session/second', { token, body: {} })).status).toBe(404);
    expect((await call('GET', '/sessions', { token: session.session })).status).toBe(401);
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.first);
    expect((await browser.visit('/auth/session/demo', { body: {} })).status).toBe(403);
  });
});

describe('POST /provider/{provider}/authorizeSession', () => {
  const body = {
    scopes: ['openid', 'email', 'groups'],
    state: 'a client’s & own',
    redirect_uri: 'http://127.0.0.1:5/x',
  };

  it('answers a URL that is good for a while, and leads back with the client’s state', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.first);
    const begun = await browser.visit('/provider/second/authorizeSession', { body });
    expect(begun.json).toEqual({ url: expect.stringContaining(second.issuer), expires_in: 600 });
    const url = new URL(String(begun.json.url));
    expect(url.searchParams.get('scope')).toBe('openid email groups');
    expect(url.searchParams.get('state')).not.toBe(body.state);
    expect(url.searchParams.get('code_challenge_method')).toBe('S256');
    const answer = await browser.prove(url.href, rita.second);
    const done = await browser.visit(answer, { site: 'cross-site' });
    expect([done.status, new URL(done.location).searchParams.get('state')]).toEqual([302, body.state]);
    expect(done.location.startsWith('http://127.0.0.1:5/x?')).toBe(true);
    expect(providersOf(await browser.visit('/sessions'))).toEqual(['demo', 'second']);
    // The same response of the provider again, from this browser or from an attacker who has seen it.
    expect((await browser.visit(answer, { site: 'cross-site' })).status).toBe(400);
    expect((await openVisitor(world.url).visit(answer, { site: 'cross-site' })).status).toBe(400);
  });

  it('rejects what is not allowed, naming it', async () => {
    const { token } = await signInProgram();
    const ask = (more: object, path = '/provider/second/authorizeSession') =>
      call('POST', path, { token, body: { ...body, ...more } });
    for (const [more, field] of [
      [{ scopes: ['openid', 'offline_access'] }, 'scopes[1]'],
      [{ redirect_uri: 'https://evil.example.test/back' }, 'redirect_uri'],
      [{ redirect_uri: 'https://tools.example.test/elsewhere' }, 'redirect_uri'],
      [{ state: undefined }, 'state'],
    ] as const) {
      const answer = await ask(more);
      expect([field, answer.status, answer.json]).toMatchObject([field, 400, { issues: [{ path: field }] }]);
    }
    expect((await ask({ redirect_uri: 'https://tools.example.test/back' })).status).toBe(200);
    expect((await ask({}, '/provider/store/authorizeSession')).status).toBe(501);
    expect((await ask({}, '/provider/hidden/authorizeSession')).status).toBe(404);
    expect((await call('POST', '/provider/second/authorizeSession', { body })).status).toBe(401);
  });

  it('a victim who is sent through it does not give their session away', async () => {
    const attacker = await signInProgram('demo', 'u-bo');
    const begun = await call('POST', '/provider/second/authorizeSession', { token: attacker.token, body });
    const victim = openVisitor(world.url);
    const answer = await victim.prove(String(begun.json.url), rita.second);
    expect((await victim.visit(answer, { site: 'cross-site' })).status).toBe(403);
    const sessions = await call('GET', '/sessions', { token: attacker.token });
    expect(providersOf(sessions)).toEqual(['demo']);
  });
});

it('no token of a provider, state or session is in the log', async () => {
  const { token, session } = await signInProgram();
  await send(`${world.url}/api/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
  const text = JSON.stringify(world.lines);
  for (const secret of [token, session.session]) expect(text).not.toContain(secret);
});
