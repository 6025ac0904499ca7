import { createHash, randomBytes } from 'node:crypto';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';

/** Attacks with a program's sign-in: a code leaves Belay only after a person's click on a page of ours (RFC 8252, 8.6). */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const page = 'text/html';
const rita = people.requester;
const loopback = 'http://127.0.0.1:5999/done';
type Visitor = ReturnType<typeof openVisitor>;

function newProof() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Sends a browser to the provider and back, as any page can, and returns the last redirect. */
async function lead(browser: Visitor, more: Record<string, string> = {}, site = 'cross-site') {
  const proof = newProof();
  const query = new URLSearchParams({ callback: loopback, code_challenge: proof.challenge, ...more });
  const begun = await browser.visit(`/auth/request/demo?${query}`, { site });
  const back = await browser.visit(await browser.prove(begun.location, rita.subject), { site: 'cross-site' });
  return { ...proof, location: back.location, status: back.status };
}

/** Opens the confirmation page, and returns a function that submits its form, or an attacker's change of it. */
async function openPage(browser: Visitor, address: string) {
  const shown = await browser.visit(address, { accept: page, site: 'cross-site' });
  const token = /action="\/api\/v1\/auth\/program"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"/.exec(
    shown.body,
  )?.[1];
  const submit = async (verdict: string, change: Record<string, string> = {}) => {
    const { site = 'same-origin', ...fields } = change;
    const request = new URL(address).searchParams.get('request') ?? '';
    const body = new URLSearchParams({ csrf_token: token ?? '', request, verdict, ...fields }).toString();
    const answer = await send(`${world.url}/api/v1/auth/program`, {
      method: 'POST',
      body,
      headers: {
        accept: page,
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'sec-fetch-site': site,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
      },
    });
    return { status: answer.status, location: String(answer.headers.location ?? '') };
  };
  return { shown, submit };
}
const press = async (browser: Visitor, address: string, verdict: string, change: Record<string, string> = {}) =>
  (await openPage(browser, address)).submit(verdict, change);
const codes = async () => Number((await world.database.sql`select count(*)::int as n from login_codes`)[0]?.n);
const exchange = (code: string, verifier: string) =>
  callRest(world.url, 'POST', '/auth/token', { body: { code, code_verifier: verifier } });

describe('a page that sends a signed-in browser to sign a program in', () => {
  it('gets no code without a click: neither at once nor for a browser that was signed in already', async () => {
    const browser = openVisitor(world.url);
    await browser.signIn('demo', rita.subject);
    const before = await codes();
    for (const callback of [loopback, 'http://localhost:5999/done', 'http://[::1]:5999/', `${world.url}/api/v1/home`]) {
      const led = await lead(browser, { callback });
      expect([callback, led.status, new URL(led.location).origin]).toEqual([callback, 302, world.url]);
      expect(new URL(led.location).pathname).toBe('/api/v1/auth/program');
      expect(new URL(led.location).searchParams.has('code')).toBe(false);
      const shown = await browser.visit(led.location, { accept: page, site: 'cross-site' });
      expect([shown.status, shown.body.includes('code=')]).toEqual([200, false]);
      expect(await codes()).toBe(before);
    }
  });

  it('is shown for what it is: the address as it is, its own name as its own word, no frame around it', async () => {
    const browser = openVisitor(world.url);
    const label = '<b>Belay</b> itself, approved by IT';
    const { location } = await lead(browser, { label });
    const shown = await browser.visit(location, { accept: page, site: 'cross-site' });
    for (const text of ['127.0.0.1:5999', 'Unverified name', 'Belay has not checked', rita.email]) {
      expect(shown.body).toContain(text);
    }
    expect(shown.body).toContain('&lt;b>Belay&lt;/b> itself');
    expect(shown.headers['x-frame-options']).toBe('DENY');
    expect(shown.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(shown.headers['content-security-policy']).toContain("form-action 'self' http://127.0.0.1:5999");
    expect(shown.headers['cache-control']).toBe('no-store');
    for (const bad of ['a\u202eb', 'a\nb', 'x'.repeat(201), ' ']) {
      const refused = await browser.visit(
        `/auth/request/demo?${new URLSearchParams({ label: bad, callback: loopback })}`,
      );
      expect([bad, refused.status]).toEqual([bad, 400]);
    }
  });

  it('gets the code after the click, once; it is good with the verifier alone', async () => {
    const browser = openVisitor(world.url);
    const { location, verifier } = await lead(browser);
    const { submit } = await openPage(browser, location);
    const done = await submit('approve');
    expect([done.status, done.location.startsWith(`${loopback}?code=`)]).toEqual([303, true]);
    const code = new URL(done.location).searchParams.get('code') ?? '';
    expect((await exchange(code, verifier)).json).toMatchObject({ user: { email: rita.email } });
    expect((await submit('approve')).status).toBe(404);
    expect((await browser.visit(location, { accept: page })).status).toBe(404);
    expect((await exchange(code, verifier)).status).toBe(403);
  });

  it('is told of a rejection, and nothing else', async () => {
    const browser = openVisitor(world.url);
    const { location } = await lead(browser);
    const before = await codes();
    const { submit } = await openPage(browser, location);
    const done = await submit('deny');
    expect([done.status, done.location]).toEqual([303, `${loopback}?error=access_denied`]);
    expect(await codes()).toBe(before);
    expect((await submit('approve')).status).toBe(404);
    expect((await browser.visit('/auth/whoami')).status).toBe(200);
  });
});

describe('the click', () => {
  it.each([
    ['another site', { site: 'cross-site' }],
    ['a neighbouring host', { site: 'same-site' }],
    ['a form without the token of the page', { csrf_token: '' }],
    ['a form with another token', { csrf_token: 'x'.repeat(43) }],
  ])('of %s is rejected, and what waits goes on waiting', async (_whose, change) => {
    const browser = openVisitor(world.url);
    const { location } = await lead(browser);
    expect((await press(browser, location, 'approve', change)).status).toBe(403);
    expect((await press(browser, location, 'approve')).status).toBe(303);
  });

  it('counts only in the browser and the login that it was asked in', async () => {
    const victim = openVisitor(world.url);
    const { location } = await lead(victim);
    // The same person in another browser, then a browser with only the cookie of the login.
    const other = openVisitor(world.url);
    await other.signIn('demo', rita.subject);
    expect((await press(other, location, 'approve')).status).not.toBe(303);
    const planted = openVisitor(world.url);
    planted.cookies.set('belay', victim.cookies.get('belay') ?? '');
    expect((await planted.visit(location, { accept: page })).status).toBe(404);
    const stranger = openVisitor(world.url);
    await stranger.signIn('demo', people.bystander.subject);
    stranger.cookies.set('belay-flow', victim.cookies.get('belay-flow') ?? '');
    expect((await stranger.visit(location, { accept: page })).status).toBe(404);
    expect((await press(victim, location, 'approve')).status).toBe(303);
  });

  it('is not a program’s to make: a bearer token cannot approve', async () => {
    const browser = openVisitor(world.url);
    const { location } = await lead(browser);
    const request = new URL(location).searchParams.get('request') ?? '';
    const token = browser.cookies.get('belay') ?? '';
    const made = await callRest(world.url, 'POST', '/auth/program', { token, body: { request, verdict: 'approve' } });
    expect([made.status, made.headers.location]).toEqual([404, undefined]);
  });

  it('comes too late when the login has ended or the time is over', async () => {
    const browser = openVisitor(world.url);
    const first = await lead(browser);
    await browser.visit('/auth/logout');
    expect((await press(browser, first.location, 'approve')).status).not.toBe(303);
    await browser.signIn('demo', rita.subject);
    expect((await browser.visit(first.location, { accept: page })).status).toBe(404);
  });

  it('gives a code that dies with the login it was clicked in', async () => {
    const browser = openVisitor(world.url);
    const { location, verifier } = await lead(browser);
    const done = await press(browser, location, 'approve');
    await browser.visit('/auth/logout');
    const code = new URL(done.location).searchParams.get('code') ?? '';
    expect((await exchange(code, verifier)).status).toBe(403);
  });

  it('of two at once gives one code', async () => {
    const browser = openVisitor(world.url);
    const { location } = await lead(browser);
    const before = await codes();
    const { submit } = await openPage(browser, location);
    const pressed = await Promise.all([1, 2, 3].map(() => submit('approve')));
    expect(pressed.map(({ status }) => status).sort()).toEqual([303, 404, 404]);
    expect(await codes()).toBe(before + 1);
  });
});
