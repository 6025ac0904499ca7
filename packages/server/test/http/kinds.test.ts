import { createHash, randomBytes } from 'node:crypto';
import { expireLogins } from '@belay/core';
import { openVisitor } from '@belay/testkit/visitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';
import { openKinds, type Visitor } from './support/kinds.js';

let kinds: Awaited<ReturnType<typeof openKinds>>;
beforeAll(async () => {
  kinds = await openKinds();
});
afterAll(() => kinds.close());

const open = () => openVisitor(kinds.world.url);
const whoami = async (browser: Visitor) => (await browser.visit('/auth/whoami')).json;
const sessions = async (browser: Visitor) => {
  const { json } = await browser.visit('/sessions');
  return json.sessions as Record<string, { version: number; expiry: string }>;
};

describe('providers of different kinds', () => {
  it('are signed in at once in one browser, as one person; leaving one keeps the others, leaving all ends all', async () => {
    const browser = open();
    await browser.signIn('demo', 'u-rita');
    const { id } = await whoami(browser);
    expect((await kinds.signInAtGitHub(browser)).status).toBe(200);
    expect((await kinds.signInAtCorp(browser)).status).toBe(200);
    expect((await kinds.signInAtPlain(browser)).status).toBe(200);
    expect(await whoami(browser)).toMatchObject({ id, provider: 'plain' });
    expect(Object.keys(await sessions(browser))).toEqual(['corp', 'demo', 'github', 'plain']);

    await browser.visit('/auth/logout/plain');
    await browser.visit('/auth/logout/github');
    expect(Object.keys(await sessions(browser))).toEqual(['corp', 'demo']);
    expect((await whoami(browser)).id).toBe(id);
    await browser.visit('/auth/logout/demo');
    expect(Object.keys(await sessions(browser))).toEqual(['corp']);
    expect(await whoami(browser)).toMatchObject({
      id,
      provider: 'corp',
      email: 'rita@corp.example',
      groups: ['staff'],
    });

    await browser.signIn('demo', 'u-rita');
    await kinds.signInAtGitHub(browser);
    const kept = browser.cookies.get('belay') ?? '';
    expect(Object.keys(await sessions(browser))).toEqual(['corp', 'demo', 'github']);
    await browser.visit('/auth/logout');
    expect(browser.cookies.has('belay')).toBe(false);
    browser.cookies.set('belay', kept);
    expect((await browser.visit('/sessions')).status).toBe(401);
  });

  it('are offered on one page', async () => {
    const { json } = await open().visit('/auth');
    const offered = json.providers as { id: string; url: string }[];
    expect(offered.map(({ id }) => id).sort()).toEqual(['corp', 'demo', 'github', 'plain']);
    for (const { id, url } of offered) expect(url).toBe(`/api/v1/auth/request/${id}`);
  });

  it('recognize a person who comes back with any of them', async () => {
    const first = open();
    await first.signIn('demo', 'u-rita');
    const { id } = await whoami(first);
    for (const signIn of [kinds.signInAtGitHub, kinds.signInAtCorp]) {
      const browser = open();
      await signIn(browser);
      expect((await whoami(browser)).id).toBe(id);
    }
  });
});

describe('a session', () => {
  it('of SAML has no tokens and ends when the identity provider said, or with its login', async () => {
    const browser = open();
    await kinds.signInAtCorp(browser, undefined, { sessionUntil: 20 * 60_000 });
    const { corp } = await sessions(browser);
    const left = Date.parse(corp?.expiry ?? '') - Date.now();
    expect(left).toBeGreaterThan(10 * 60_000);
    expect(left).toBeLessThanOrEqual(20 * 60_000);
    const endless = open();
    const edit = (xml: string) => xml.replace(/ SessionNotOnOrAfter="[^"]*"/, '');
    await kinds.signInAtCorp(endless, undefined, { edit });
    const { expires_at } = (await endless.visit('/auth/whoami')).json as { expires_at?: string };
    const own = await sessions(endless);
    expect(Date.parse(own.corp?.expiry ?? '') - Date.now()).toBeGreaterThan(60 * 60_000);
    if (expires_at) expect(Date.parse(own.corp?.expiry ?? '')).toBeLessThanOrEqual(Date.parse(expires_at));
  });

  it('of SAML is rejected when it has already ended', async () => {
    const browser = open();
    const landed = await kinds.signInAtCorp(browser, undefined, { sessionUntil: -1000 });
    expect([landed.status, browser.cookies.has('belay')]).toEqual([403, false]);
  });

  it('of OAuth 2.0 goes on where the provider gave something to refresh it with, and not elsewhere', async () => {
    const browser = open();
    await kinds.signInAtPlain(browser);
    await kinds.signInAtCorp(browser);
    await kinds.signInAtGitHub(browser);
    const before = await sessions(browser);
    const { db } = kinds.world.context;
    await db.execute(`insert into test_clock (at) values (now() + interval '40 seconds')`);
    try {
      await expireLogins(kinds.world.context);
      const after = await sessions(browser);
      expect(after.plain?.version).toBe((before.plain?.version ?? 0) + 1);
      expect([after.corp, after.github]).toEqual([before.corp, before.github]);
      expect(kinds.rotating.seen).toMatchObject({ refused: 0 });
    } finally {
      await db.execute('delete from test_clock');
    }
  });

  it('of a program that signed in with each kind is its own, and is shown in its requests', async () => {
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const query = new URLSearchParams({ callback: 'http://127.0.0.1:5999/done', code_challenge: challenge });
    const answers = {
      corp: async (address: string) => String((await kinds.post(await kinds.assert(address))).headers.location),
      github: async (address: string) => (await kinds.github.press(address, 'rita-hub')).href,
    };
    for (const provider of ['corp', 'github'] as const) {
      const browser = open();
      const begun = await browser.visit(`/auth/request/${provider}?${query.toString()}`, { site: 'none' });
      const landed = await kinds.land(browser, await answers[provider](begun.location));
      const code = (await browser.letProgram(landed.location)).searchParams.get('code') ?? '';
      const { url } = kinds.world;
      const { status, json } = await callRest(url, 'POST', '/auth/token', { body: { code, code_verifier: verifier } });
      expect([status, json.user]).toMatchObject([200, { provider }]);
      const own = await callRest(url, 'POST', `/auth/session/${provider}`, { token: String(json.token) });
      expect([own.status, own.json.session]).toMatchObject([200, { version: 1 }]);
    }
  });

  it('is opened by a program at a provider of each kind, for the scopes that each allows', async () => {
    const browser = open();
    await browser.signIn('demo', 'u-rita');
    await kinds.signInAtCorp(browser);
    const ask = (provider: string, scopes: string[]) =>
      browser.visit(`/provider/${provider}/authorizeSession`, {
        body: { scopes, state: 'mine', redirect_uri: 'http://127.0.0.1:5999/back' },
      });
    expect((await ask('corp', ['groups'])).status).toBe(400);
    expect((await ask('github', ['repo'])).status).toBe(400);
    const github = await ask('github', ['read:user']);
    expect(new URL(String(github.json.url)).searchParams.get('scope')).toBe('read:user');

    const before = (await sessions(browser)).corp?.version ?? 0;
    const corp = await ask('corp', []);
    expect(corp.status).toBe(200);
    const answered = await kinds.post(await kinds.assert(String(corp.json.url)));
    const landed = await kinds.land(browser, String(answered.headers.location));
    expect([landed.status, landed.location]).toEqual([302, 'http://127.0.0.1:5999/back?state=mine']);
    expect((await sessions(browser)).corp?.version).toBe(before + 1);
  });
});

describe('metadata', () => {
  const get = (provider: string, accept: string) =>
    callRest(kinds.world.url, 'GET', `/auth/metadata/${provider}`, { headers: { accept } });

  it('is XML for an identity provider that fetches it, and for a person', async () => {
    for (const accept of ['*/*', 'application/samlmetadata+xml', 'text/html,application/xml;q=0.9,*/*;q=0.8']) {
      const answer = await get('corp', accept);
      expect([answer.status, answer.headers['content-type']]).toEqual([
        200,
        'application/samlmetadata+xml; charset=utf-8',
      ]);
      expect(answer.body).toContain(`Location="${kinds.world.url}/api/v1/auth/callback/corp"`);
      expect(answer.body).not.toContain('PRIVATE');
    }
    expect((await get('corp', 'application/json')).json.metadata).toContain('<EntityDescriptor');
  });

  it('is there for SAML only', async () => {
    expect((await get('demo', '*/*')).status).toBe(501);
    expect((await get('nobody', '*/*')).status).toBe(404);
    expect((await get('store', '*/*')).status).toBe(404);
  });
});
