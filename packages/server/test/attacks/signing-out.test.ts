import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';

/** Attacks with links: an address must have no effect when a page, an email or a link checker opens it. */

const page = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const rita = people.requester;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function signedIn(person: { subject: string } = rita) {
  const browser = openVisitor(world.url);
  await browser.signIn('demo', person.subject);
  return browser;
}
const isSignedIn = async (browser: ReturnType<typeof openVisitor>) =>
  (await browser.visit('/auth/whoami')).status === 200;

describe('a link to the sign-out', () => {
  it.each([
    ['a page of another site', 'cross-site'],
    ['a page of a neighbouring host', 'same-site'],
    ['a mail, a chat or another program', 'none'],
  ])('in %s signs no person out: it asks first', async (_from, site) => {
    const browser = await signedIn();
    for (const path of ['/auth/logout', '/auth/logout/demo']) {
      const asked = await browser.visit(path, { site, accept: page });
      expect([path, asked.status]).toEqual([path, 200]);
      expect(asked.body).toContain('Nothing has happened yet');
      expect(asked.body).toContain(`action="/api/v1${path}"`);
      expect(await isSignedIn(browser)).toBe(true);
    }
  });

  it('acts from a page of Belay, and for a program with a bearer token', async () => {
    const browser = await signedIn();
    expect((await browser.visit('/auth/logout', { accept: page })).status).toBe(200);
    expect(await isSignedIn(browser)).toBe(false);
    const token = await world.token('requester', 'device');
    const left = await callRest(world.url, 'GET', '/auth/logout', { token, headers: { accept: 'application/json' } });
    expect([left.status, left.json]).toEqual([200, { message: 'You are signed out' }]);
    expect((await callRest(world.url, 'GET', '/auth/whoami', { token })).status).toBe(401);
  });
});

describe('the page after a change of person', () => {
  it('shows neither name nor navigation of who signed out, though they are signed in elsewhere', async () => {
    await world.token('requester', 'device');
    const other = await signedIn();
    const browser = await signedIn();
    const left = await browser.visit('/auth/logout', { accept: page });
    expect(left.body).toContain('You are signed out');
    for (const trace of [rita.name, rita.email, '<nav', '/auth/logout']) expect(left.body).not.toContain(trace);
    expect(await isSignedIn(other)).toBe(true);
  });

  it('shows who signed in, and nothing of who was signed in before', async () => {
    const browser = await signedIn();
    const begun = await browser.visit('/auth/request/demo');
    const answer = await browser.prove(begun.location, people.approver.subject);
    const now = await browser.visit(answer, { site: 'cross-site', accept: page });
    expect(now.body).toContain(people.approver.email);
    expect(now.body).not.toContain(rita.email);
  });
});

describe('HEAD', () => {
  const effects = () => world.database.sql`select
    (select count(*) from oauth_flows)::int as flows, (select count(*) from logins)::int as logins,
    (select count(*) from executions)::int as executions, (select count(*) from ledger)::int as ledger`;

  it('acts nowhere: it is rejected where GET acts, and changes no row where it is not', async () => {
    const token = await world.token('requester', 'device');
    const browser = openVisitor(world.url);
    const begun = await browser.visit('/auth/request/demo');
    const answer = new URL(await browser.prove(begun.location, rita.subject));
    const before = await effects();
    const id = '00000000-0000-7000-8000-000000000000';
    for (const path of [
      '/auth/request/demo',
      `/auth/callback/demo${answer.search}`,
      '/auth/logout',
      '/auth/logout/demo',
      '/elevate?role=reader&provider=store&reason=x',
      '/elevate/resume?state=x',
      `/execution/${id}/cancel`,
      `/execution/${id}/terminate`,
      `/execution/${id}/signal?input=x`,
    ]) {
      const headers = { authorization: `Bearer ${token}` };
      const refused = await send(`${world.url}/api/v1${path}`, { method: 'HEAD', headers });
      expect([path, refused.status]).toEqual([path, 405]);
      expect(String(refused.headers.allow)).toMatch(/^GET, (?:POST, )?OPTIONS$/);
    }
    expect((await browser.visit(answer.href, { method: 'HEAD', site: 'cross-site' })).status).toBe(405);
    expect(await effects()).toEqual(before);
    // HEAD did not use up the response of the provider, so it is still valid.
    expect((await browser.visit(answer.href, { site: 'cross-site' })).status).toBe(200);
  });

  it('is answered where GET only reads', async () => {
    const token = await world.token('requester', 'device');
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['/auth', '/auth/whoami', '/roles', '/executions', '/sessions']) {
      const read = await send(`${world.url}/api/v1${path}`, { method: 'HEAD', headers });
      expect([path, read.status, read.body]).toEqual([path, 200, '']);
    }
  });
});

describe('an address to return to', () => {
  it.each([
    '/api/v1/home',
    'home',
    '',
    '?x=1',
    '//127.0.0.1:5999/x',
    '\\\\127.0.0.1:5999/x',
    'http:127.0.0.1:5999/x',
    'http:/127.0.0.1:5999/x',
    'http:\\\\127.0.0.1:5999/x',
    'http://127.0.0.1:5999\\@evil.example/x',
    '127.0.0.1:5999/x',
    'localhost:5999',
    'javascript://127.0.0.1/%0aalert(1)',
    'http://user@127.0.0.1:5999/x',
    'http://127.0.0.1:5999/x#y',
    'http://127.0.0.1:5999/x#',
    ' http://127.0.0.1:5999/x',
    'http://127.0.0.1:5999/\nx',
    'http://127.0.0.1:5999/\tx',
    'http://127.0.0.1:99999/x',
  ])('must be an absolute URL of the plainest form: %j', async (address) => {
    const token = await world.token('requester', 'device');
    const field = (issues: unknown) => (issues as { path: string }[]).map(({ path }) => path);
    const query = new URLSearchParams({ callback: address }).toString();
    for (const path of [`/auth/request/demo?${query}`, `/auth?${query}`, `/auth?provider=demo&${query}`]) {
      const refused = await callRest(world.url, 'GET', path, { headers: { accept: 'application/json' } });
      expect([path, refused.status, refused.headers.location]).toEqual([path, 400, undefined]);
      expect(field(refused.json.issues)).toEqual(['callback']);
    }
    const body = { scopes: [], state: 'x', redirect_uri: address };
    const refused = await callRest(world.url, 'POST', '/provider/demo/authorizeSession', { token, body });
    expect([refused.status, field(refused.json.issues)]).toEqual([400, ['redirect_uri']]);
  });
});
