import { openBrowser } from '@belay/testkit/browser';
import type { Answer } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCertified } from '../../../providers/test/support/certified.js';
import { type Said, tamper } from '../../../providers/test/support/saml-identity-provider.js';
import { corpPeople, openKinds, type Visitor } from './support/kinds.js';

let kinds: Awaited<ReturnType<typeof openKinds>>;
beforeAll(async () => {
  kinds = await openKinds();
});
afterAll(() => kinds.close());

const open = () => openVisitor(kinds.world.url);
const isIn = async (browser: Visitor) => (await browser.visit('/auth/whoami')).status === 200;
/** Expects a rejection without internals, without content of the provider's response, and without a cookie. */
function expectRefused(answer: Answer, ...statuses: number[]): void {
  expect(statuses, answer.body).toContain(answer.status);
  expect(answer.body).not.toMatch(/saml:|stack|node_modules|InResponseTo/);
  expect(answer.headers['set-cookie']).toBeUndefined();
}

describe('a posted answer', () => {
  it('does not sign a person in by itself: the browser that began fetches it, with its cookie and a code that can be used once', async () => {
    const browser = open();
    const posted = await kinds.assert(await kinds.begin(browser, 'corp'));
    const answered = await kinds.post(posted);
    expect([answered.status, answered.headers['set-cookie']]).toEqual([303, undefined]);
    const landing = new URL(String(answered.headers.location));
    expect(`${landing.origin}${landing.pathname}`).toBe(`${kinds.world.url}/api/v1/auth/callback/corp`);
    expect([...landing.searchParams.keys()]).toEqual(['code', 'state']);
    expect(await isIn(browser)).toBe(false);

    // An attacker who knows the address: first without a cookie, then with the cookie of their own sign-in.
    const thief = open();
    expectRefused(await kinds.land(thief, landing.href), 400);
    await kinds.begin(thief, 'corp');
    expectRefused(await kinds.land(thief, landing.href), 400);
    expect(await isIn(thief)).toBe(false);

    // These attempts did not use up the address.
    expect((await kinds.land(browser, landing.href)).status).toBe(200);
    expect(await isIn(browser)).toBe(true);
    expectRefused(await kinds.land(browser, landing.href), 400);
  });

  it('is worth nothing to a browser without the code, though it has the state and the cookie', async () => {
    for (const code of ['guessed', 'x'.repeat(43)]) {
      const browser = open();
      const posted = await kinds.assert(await kinds.begin(browser, 'corp'));
      await kinds.post(posted);
      const guess = new URLSearchParams({ code, state: posted.RelayState });
      expectRefused(await kinds.land(browser, `/auth/callback/corp?${guess.toString()}`), 403);
      expect(await isIn(browser)).toBe(false);
    }
  });

  it('has to have come before its code', async () => {
    const browser = open();
    const state = new URL(await kinds.begin(browser, 'corp')).searchParams.get('RelayState') ?? '';
    const query = new URLSearchParams({ code: 'anything', state, SAMLResponse: 'AAAA' });
    expectRefused(await kinds.land(browser, `/auth/callback/corp?${query.toString()}`), 403);
  });

  it('counts once: neither the same again nor another one for the same flow', async () => {
    const browser = open();
    const address = await kinds.begin(browser, 'corp');
    const posted = await kinds.assert(address);
    const first = await kinds.post(posted);
    expectRefused(await kinds.post(posted), 400);
    expectRefused(await kinds.post(await kinds.assert(address, corpPeople.adam)), 400);
    await kinds.land(browser, String(first.headers.location));
    expectRefused(await kinds.post(posted), 400);
    expect((await browser.visit('/auth/whoami')).json.email).toBe('rita@corp.example');
  });

  it('counts once when it comes many times at the same moment', async () => {
    const posted = await kinds.assert(await kinds.begin(open(), 'corp'));
    const answers = await Promise.all(Array.from({ length: 8 }, () => kinds.post(posted)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array.from({ length: 7 }, () => 400)].sort());
  });

  it('is of the flow that it answers: not under the state of another browser, nor of none', async () => {
    const [victim, attacker] = [open(), open()];
    const state = new URL(await kinds.begin(victim, 'corp')).searchParams.get('RelayState') ?? '';
    const own = await kinds.assert(await kinds.begin(attacker, 'corp'), corpPeople.adam);
    expectRefused(await kinds.post({ ...own, RelayState: state }), 403);
    expectRefused(await kinds.post({ ...own, RelayState: 'never-given-out' }), 400);
    expectRefused(await kinds.post({ SAMLResponse: own.SAMLResponse }), 400);
    // Opened in the victim's browser, the attacker's own sign-in has no effect: the victim is still signed out.
    const answered = await kinds.post(own);
    expectRefused(await kinds.land(victim, String(answered.headers.location)), 400);
    expect(await isIn(victim)).toBe(false);
  });

  it('may come with the cookies of a signed-in person, where the identity provider is of the same site', async () => {
    const browser = open();
    await browser.signIn('demo', 'u-rita');
    const posted = await kinds.assert(await kinds.begin(browser, 'corp'));
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const answered = await kinds.post(posted, { headers: { cookie, 'sec-fetch-site': 'same-site' } });
    expect(answered.status).toBe(303);
    expect((await kinds.land(browser, String(answered.headers.location))).status).toBe(200);
  });

  it.each<[string, Said]>([
    ['signed with another key', { key: createCertified('idp.example.test') }],
    ['for another audience', { audience: 'https://other.example.test' }],
    ['to another request', { inResponseTo: '_another' }],
    ['that is over', { from: -600_000, until: -120_000 }],
    ['by another issuer', { issuer: 'https://other.example.test' }],
    ['that goes elsewhere', { recipient: 'https://other.example.test/' }],
  ])('%s is rejected, and the flow can still be answered well', async (_what, said) => {
    const browser = open();
    const address = await kinds.begin(browser, 'corp');
    expectRefused(await kinds.post(await kinds.assert(address, undefined, said)), 403);
    const answered = await kinds.post(await kinds.assert(address));
    expect((await kinds.land(browser, String(answered.headers.location))).status).toBe(200);
  });

  it.each<[string, (xml: string) => string]>([
    ['without a signature', (xml) => xml.replace(/<ds:Signature .*<\/ds:Signature>/s, '')],
    ['with another subject', (xml) => xml.replaceAll('corp-rita', 'corp-adam')],
    [
      'wrapped',
      (xml) => {
        const signed = /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
        const evil = signed.replace(/<ds:Signature .*<\/ds:Signature>/s, '').replaceAll('rita', 'adam');
        return xml.replace(signed, `${evil.replace('ID="_a', 'ID="_b')}<samlp:Extensions>${signed}</samlp:Extensions>`);
      },
    ],
  ])('%s is rejected', async (_what, change) => {
    const posted = await kinds.assert(await kinds.begin(open(), 'corp'));
    expectRefused(await kinds.post(tamper(posted, change)), 403);
  });

  it('is rejected on a page for a browser, which says what to do', async () => {
    const posted = await kinds.assert(await kinds.begin(open(), 'corp'), undefined, { audience: 'another' });
    const answer = await kinds.post(posted, { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([answer.status, answer.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
    expect(answer.body).toContain('The provider did not confirm your identity');
  });

  it('is for providers that post, in the one form that they use, and small', async () => {
    const { SAMLResponse, RelayState } = await kinds.assert(await kinds.begin(open(), 'corp'));
    const posted = { SAMLResponse, RelayState };
    expectRefused(await kinds.post(posted, { provider: 'demo' }), 400);
    expectRefused(await kinds.post(posted, { provider: 'github' }), 400);
    expectRefused(await kinds.post(posted, { provider: 'store' }), 404);
    expectRefused(await kinds.post(posted, { provider: 'nobody' }), 404);
    expectRefused(await kinds.post(posted, { headers: { 'content-type': 'application/json' } }), 415);
    expectRefused(await kinds.post({ ...posted, SAMLResponse: 'A'.repeat(250_000) }), 400);
    expectRefused(await kinds.post({ ...posted, SAMLResponse: 'A'.repeat(300_000) }), 413);
    for (const SAMLResponse of ['', 'AAAA', '<xml/>', '\0', Buffer.from('<a/>').toString('base64')]) {
      expectRefused(await kinds.post({ ...posted, SAMLResponse }), 400, 403);
    }
    for (const RelayState of ['', '\0', '\ud800', "' or 1=1 --", 'x'.repeat(20_000)]) {
      expectRefused(await kinds.post({ ...posted, RelayState }), 400);
    }
  });

  it('proves no address outside the domains of its identity provider', async () => {
    const browser = open();
    const refused = await kinds.post(await kinds.assert(await kinds.begin(browser, 'corp'), corpPeople.outsider));
    expectRefused(refused, 403);
    expect(refused.body).toContain('has not verified your e-mail address');
  });
});

describe('plain OAuth 2.0', () => {
  const press = async (browser: Visitor, login = 'rita-hub') =>
    (await kinds.github.press(await kinds.begin(browser, 'github'), login)).href;

  it('accepts a response in the browser that requested it, and only once', async () => {
    const [browser, other] = [open(), open()];
    const address = await press(browser);
    expectRefused(await kinds.land(other, address), 400);
    await kinds.begin(other, 'github');
    expectRefused(await kinds.land(other, address), 400);
    expect((await kinds.land(browser, address)).status).toBe(200);
    expectRefused(await kinds.land(browser, address), 400);
    expect(await isIn(other)).toBe(false);
  });

  it('accepts a code once, with any state', async () => {
    const browser = open();
    const first = new URL(await press(browser));
    expect((await kinds.land(browser, first.href)).status).toBe(200);
    const next = new URL(await press(open()));
    const thief = open();
    const own = new URL(await press(thief));
    own.searchParams.set('code', first.searchParams.get('code') ?? '');
    expectRefused(await kinds.land(thief, own.href), 403);
    next.searchParams.set('state', 'made-up');
    expectRefused(await kinds.land(thief, next.href), 400);
    expect(await isIn(thief)).toBe(false);
  });

  it('holds a code to the verifier of its own flow, where the provider knows PKCE', async () => {
    const [victim, thief] = [open(), open()];
    const stolen = (await openBrowser().open(await kinds.begin(victim, 'plain'))).url;
    const own = (await openBrowser().open(await kinds.begin(thief, 'plain'))).url;
    own.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    expectRefused(await kinds.land(thief, own.href), 403);
    expect(await isIn(thief)).toBe(false);
  });

  it('does not mix up providers: rejects a response of another provider', async () => {
    const browser = open();
    const address = await press(browser);
    expectRefused(await kinds.land(browser, address.replace('/callback/github', '/callback/plain')), 400);
    expectRefused(await kinds.land(browser, address.replace('/callback/github', '/callback/demo')), 400);
    expectRefused(await kinds.land(browser, address.replace('/callback/github', '/callback/corp')), 400);
    expect((await kinds.land(browser, address)).status).toBe(200);
  });

  it('links no identity to the person of a program’s token that is sent as a cookie', async () => {
    const thief = open();
    thief.cookies.set('belay', await kinds.world.token('approver', 'device'));
    expect(await isIn(thief)).toBe(false);
    await kinds.signInAtGitHub(thief, 'thief');
    const [his] = await kinds.world.database
      .sql`select user_id from user_identities where email = 'adam@example.test' and provider = 'demo'`;
    expect((await thief.visit('/auth/whoami')).json.id).not.toBe(his?.user_id);
  });

  it('does not match people of different providers by their address', async () => {
    const adam = open();
    await adam.signIn('demo', 'u-adam');
    const thief = open();
    expect((await kinds.signInAtGitHub(thief, 'thief')).status).toBe(200);
    const [his, theirs] = [(await adam.visit('/auth/whoami')).json, (await thief.visit('/auth/whoami')).json];
    expect(theirs.email).toBe(his.email);
    expect(theirs.id).not.toBe(his.id);
    expect(theirs.groups).toEqual([]);
  });

  it('says on a page that the provider rejected', async () => {
    const browser = open();
    const state = new URL(await kinds.begin(browser, 'github')).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', error_description: '<b>no</b>', state });
    const answer = await browser.visit(`/auth/callback/github?${query.toString()}`, {
      site: 'cross-site',
      accept: 'text/html',
    });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('The provider denied the sign-in');
    expect(answer.body).not.toContain('<b>no</b>');
  });
});
