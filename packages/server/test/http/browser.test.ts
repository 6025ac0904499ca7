import { createHash, randomBytes } from 'node:crypto';
import { openBrowser } from '@belay/testkit/browser';
import { type Answer, send } from '@belay/testkit/serve';
import { createWorld, type Person, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let world: World;
/** The encoded address of one of our pages, as a callback in a query. */
let rolesPage: string;
beforeAll(async () => {
  world = await createWorld();
  rolesPage = encodeURIComponent(`${world.url}/api/v1/roles`);
});
afterAll(() => world[Symbol.asyncDispose]());

/** Returns a browser at Belay: it keeps cookies, sends `Sec-Fetch-Site`, and follows no redirects. */
function openBelay() {
  const cookies = new Map<string, string>();
  const visit = async (
    path: string,
    options: { form?: Record<string, string>; site?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer & { location: string }> => {
    const body = options.form === undefined ? undefined : new URLSearchParams(options.form).toString();
    const answer = await send(path.startsWith('http') ? path : `${world.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept,
        'sec-fetch-site': options.site ?? 'same-origin',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return { ...answer, location: String(answer.headers.location ?? '') };
  };
  return { visit, cookies };
}
type Belay = ReturnType<typeof openBelay>;

/** Signs in at the identity provider, and returns the address to which it sends the browser back. */
async function authorize(belay: Belay, person: Person, query = ''): Promise<string> {
  const begun = await belay.visit(`/api/v1/auth/request/demo${query}`);
  expect(begun.status).toBe(302);
  const provider = openBrowser();
  const page = await provider.open(begun.location);
  return (await provider.open(page.url, { subject: people[person].subject })).url.href;
}

async function signIn(person: Person): Promise<Belay> {
  const belay = openBelay();
  const done = await belay.visit(await authorize(belay, person), { site: 'cross-site' });
  expect(done.status).toBe(200);
  return belay;
}

/** Returns the CSRF token of the page's own form, which is the last one; the frame of the page has a form to sign out. */
const tokenIn = (page: string): string => [...page.matchAll(/name="csrf_token" value="([^"]+)"/g)].at(-1)?.[1] ?? '';
const elevate = '/api/v1/elevate?role=reader&provider=store&reason=%3Cb%3Eincident%3C%2Fb%3E';

describe('signing in', () => {
  it('lists the providers as links, escaped, with no script and no inline style', async () => {
    const page = await openBelay().visit(`/api/v1/auth?callback=${rolesPage}`);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain(`href="/api/v1/auth/request/demo?callback=${rolesPage}"`);
    expect(page.body).toContain('Demo &lt;identity> provider');
    expect(page.body).not.toMatch(/<script|<style|style=|\son\w+=/);
    expect(page.body).not.toContain('Store');
    const sheet = await send(`${world.url}/api/v1/assets/belay.css`);
    expect([sheet.status, sheet.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
  });

  it('is a page by default, JSON on request, and redirects when the provider is named', async () => {
    expect((await send(`${world.url}/api/v1/auth`)).headers['content-type']).toContain('text/html');
    const json = await send(`${world.url}/api/v1/auth`, { headers: { accept: 'application/json' } });
    expect(JSON.parse(json.body)).toMatchObject({ providers: [{ id: 'demo', url: '/api/v1/auth/request/demo' }] });
    const named = await openBelay().visit(`/api/v1/auth?provider=demo&callback=${rolesPage}`);
    expect([named.status, named.location]).toEqual([302, `/api/v1/auth/request/demo?callback=${rolesPage}`]);
  });

  it('goes to the provider and comes back with a login cookie, on a page or at the callback', async () => {
    const belay = openBelay();
    const done = await belay.visit(await authorize(belay, 'requester'), { site: 'cross-site' });
    expect(done.status).toBe(200);
    expect(done.body).toContain('You are signed in');
    expect(done.body).toContain('rita@example.test');
    const cookie = (done.headers['set-cookie'] ?? []).find((line) => line.startsWith('belay='));
    expect(cookie).toMatch(/^belay=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Expires=/);
    expect(done.body).not.toContain(belay.cookies.get('belay'));
    const whoami = await belay.visit('/api/v1/auth/whoami', { headers: { accept: 'application/json' } });
    expect(JSON.parse(whoami.body)).toMatchObject({
      email: 'rita@example.test',
      groups: ['engineers'],
      provider: 'demo',
    });

    const other = openBelay();
    const back = await other.visit(await authorize(other, 'requester', `?callback=${rolesPage}`));
    expect([back.status, back.location]).toEqual([302, `${world.url}/api/v1/roles`]);
  });

  it('gives a program a code for its own token, once, and only with the verifier', async () => {
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const belay = openBelay();
    const callback = encodeURIComponent('http://127.0.0.1:5999/done');
    const query = `?callback=${callback}&code_challenge=${challenge}&code_challenge_method=S256`;
    const back = await belay.visit(await authorize(belay, 'requester', query));
    const address = new URL(back.location);
    const page = await belay.visit(`${address.pathname}${address.search}`, { site: 'cross-site' });
    const csrf_token =
      /action="\/api\/v1\/auth\/program"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"/.exec(
        page.body,
      )?.[1];
    const form = {
      csrf_token: csrf_token ?? '',
      request: address.searchParams.get('request') ?? '',
      verdict: 'approve',
    };
    const { location } = await belay.visit('/api/v1/auth/program', { form });
    const code = new URL(location).searchParams.get('code') ?? '';
    expect(location.startsWith('http://127.0.0.1:5999/done?code=')).toBe(true);
    const exchange = (body: object) =>
      send(`${world.url}/api/v1/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const exchanged = await exchange({ code, code_verifier: verifier });
    const { token, user } = JSON.parse(exchanged.body) as { token: string; user: object };
    expect([exchanged.status, user]).toMatchObject([200, { email: 'rita@example.test', provider: 'demo' }]);
    const whoami = await send(`${world.url}/api/v1/auth/whoami`, { headers: { authorization: `Bearer ${token}` } });
    expect(whoami.status).toBe(200);
    expect((await exchange({ code, code_verifier: verifier })).status).toBe(403);
    expect((await exchange({ code })).status).toBe(400);
  });

  it('is rejected in another browser than the one that began it, and when it is used again', async () => {
    const belay = openBelay();
    const callback = await authorize(belay, 'requester');
    expect((await openBelay().visit(callback, { site: 'cross-site' })).status).toBe(400);
    expect((await belay.visit(callback, { site: 'cross-site' })).status).toBe(200);
    expect((await belay.visit(callback, { site: 'cross-site' })).status).toBe(400);
  });

  it('that the provider rejects is a clear page that repeats nothing of what it said', async () => {
    const belay = openBelay();
    const begun = await belay.visit('/api/v1/auth/request/demo');
    const state = new URL(begun.location).searchParams.get('state') ?? '';
    const denied = await belay.visit(
      `/api/v1/auth/callback/demo?error=access_denied&error_description=call-me&state=${state}`,
    );
    expect(denied.status).toBe(403);
    expect(denied.body).toContain('denied the sign-in');
    expect(denied.body).not.toContain('call-me');
    expect(belay.cookies.has('belay')).toBe(false);
    const bare = await belay.visit('/api/v1/auth/callback/demo', { headers: { accept: 'application/json' } });
    expect([bare.status, JSON.parse(bare.body)]).toMatchObject([
      400,
      { issues: [{ path: 'code' }, { path: 'state' }] },
    ]);
  });

  it('never returns to an address that is not allowed', async () => {
    const answer = await openBelay().visit('/api/v1/auth/request/demo?callback=https%3A%2F%2Fevil.example%2F');
    expect(answer.status).toBe(400);
  });

  it('leaves no code, state or token in the log', async () => {
    const belay = openBelay();
    const callback = await authorize(belay, 'requester');
    await belay.visit(callback, { site: 'cross-site' });
    const logged = JSON.stringify(world.lines);
    const { searchParams } = new URL(callback);
    for (const secret of [
      searchParams.get('code'),
      searchParams.get('state'),
      belay.cookies.get('belay'),
      belay.cookies.get('belay-flow'),
    ]) {
      expect(secret).toBeTruthy();
      expect(logged).not.toContain(secret);
    }
  });
});

describe('a browser that is not signed in', () => {
  it('is sent to sign in and back; a program gets 401', async () => {
    const sent = await openBelay().visit(elevate);
    expect(sent.status).toBe(302);
    const { pathname, searchParams } = new URL(sent.location, world.url);
    expect([pathname, searchParams.get('callback')]).toEqual(['/api/v1/auth', `${world.url}${elevate}`]);
    const program = await send(`${world.url}${elevate}`, {
      headers: { authorization: 'Bearer unknown-token' },
    });
    expect([program.status, program.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="belay", error="invalid_token"',
    ]);
  });
});

describe('a link that changes something', () => {
  it('asks a browser first, and acts only on the form of that page', async () => {
    const belay = await signIn('requester');
    const page = await belay.visit(elevate, { site: 'cross-site' });
    expect(page.status).toBe(200);
    expect(page.body).toContain('Nothing has happened yet');
    expect(page.body).toContain('&lt;b>incident&lt;/b>');
    const list = async () =>
      (
        JSON.parse((await belay.visit('/api/v1/executions', { headers: { accept: 'application/json' } })).body) as {
          executions: unknown[];
        }
      ).executions.length;
    const before = await list();
    expect((await belay.visit(elevate, { form: { csrf_token: 'forged' } })).status).toBe(403);
    expect((await belay.visit(elevate, { form: { csrf_token: tokenIn(page.body) }, site: 'cross-site' })).status).toBe(
      403,
    );
    expect((await belay.visit(`${elevate}&duration=PT1H`, { form: { csrf_token: tokenIn(page.body) } })).status).toBe(
      403,
    );
    const stranger = await signIn('bystander');
    expect((await stranger.visit(elevate, { form: { csrf_token: tokenIn(page.body) } })).status).toBe(403);
    expect(await list()).toBe(before);
    const acted = await belay.visit(elevate, { form: { csrf_token: tokenIn(page.body) } });
    expect([acted.status, acted.location]).toEqual([303, expect.stringMatching(/^\/requests\/[0-9a-f-]{36}$/)]);
    expect(await list()).toBe(before + 1);

    const cancel = `${acted.location}/cancel`;
    const asked = await belay.visit(cancel);
    const cancelled = await belay.visit(cancel, { form: { csrf_token: tokenIn(asked.body) } });
    expect([cancelled.status, cancelled.location]).toEqual([303, acted.location]);
    expect((await belay.visit(cancelled.location)).body).toContain('The request was cancelled');
  });

  it('never acts for a cookie from another site, nor from who does not say', async () => {
    const belay = await signIn('requester');
    const headers = { accept: 'application/json' };
    for (const site of ['cross-site', 'same-site']) {
      expect([site, (await belay.visit(elevate, { site, headers })).status]).toEqual([site, 403]);
    }
    const silent = await send(`${world.url}${elevate}`, {
      headers: { cookie: `belay=${belay.cookies.get('belay')}`, ...headers },
    });
    expect(silent.status).toBe(403);
    const post = (extra: Record<string, string>) =>
      send(`${world.url}/api/v1/elevate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie: `belay=${belay.cookies.get('belay')}`, ...extra },
        body: JSON.stringify({ role: 'reader', reason: 'An incident' }),
      });
    expect((await post({})).status).toBe(403);
    expect((await post({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await post({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await post({ origin: world.url })).status).toBe(200);
    expect((await post({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    const rpc = await send(`${world.url}/trpc/elevation.request`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        cookie: `belay=${belay.cookies.get('belay')}`,
        'sec-fetch-site': 'cross-site',
      },
      body: JSON.stringify({ role: 'reader', reason: 'An incident' }),
    });
    expect(rpc.status).toBe(403);
  });

  it('acts without a confirmation for a bearer token, with any other headers', async () => {
    const token = await world.token('requester');
    const answer = await send(`${world.url}${elevate}`, {
      headers: {
        authorization: `Bearer ${token}`,
        cookie: 'belay=not-a-login',
        'sec-fetch-site': 'cross-site',
        accept: 'application/json',
      },
    });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([200, { status: 'pending' }]);
  });

  it('does nothing under HEAD', async () => {
    const token = await world.token('requester');
    const answer = await send(`${world.url}${elevate}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(405);
  });
});

describe('the resume', () => {
  const asked = async () => {
    const token = await world.token('requester');
    const answer = await send(`${world.url}/api/v1/elevate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ role: 'reader', reason: 'An incident' }),
    });
    const { output } = JSON.parse(answer.body) as { output: { execution_id: string } };
    await world.drive();
    const approver = await world.token('approver');
    const inbox = await send(`${world.url}/api/v1/approvals`, { headers: { authorization: `Bearer ${approver}` } });
    const { approvals } = JSON.parse(inbox.body) as { approvals: { execution_id: string; request_digest: string }[] };
    const requestDigest =
      approvals.find(({ execution_id }) => execution_id === output.execution_id)?.request_digest ?? '';
    const sealed = await send(`${world.url}/api/v1/elevate/resume/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${approver}` },
      body: JSON.stringify({ execution_id: output.execution_id, verdict: 'approve', request_digest: requestDigest }),
    });
    const { state } = JSON.parse(sealed.body) as { state: string };
    return { id: output.execution_id, state, approver };
  };

  it('is a 307 to the execution, which takes a POST as well, because a browser repeats it', async () => {
    const { id, state, approver } = await asked();
    const headers = { authorization: `Bearer ${approver}`, 'content-type': 'text/plain' };
    const resumed = await send(`${world.url}/api/v1/elevate/resume`, { method: 'POST', headers, body: state });
    expect([resumed.status, resumed.headers.location]).toEqual([307, `/api/v1/execution/${id}`]);
    const next = await send(`${world.url}${resumed.headers.location}`, { method: 'POST', headers, body: state });
    expect([next.status, JSON.parse(next.body)]).toMatchObject([200, { workflow_id: id }]);
    const again = await send(`${world.url}/api/v1/elevate/resume?state=${state}`, { headers });
    expect(again.status).toBe(409);
  });

  it('is JSON on request', async () => {
    const { id, state, approver } = await asked();
    const resumed = await send(`${world.url}/api/v1/elevate/resume`, {
      method: 'POST',
      headers: { authorization: `Bearer ${approver}`, accept: 'application/json', 'content-type': 'text/plain' },
      body: state,
    });
    expect([resumed.status, JSON.parse(resumed.body)]).toEqual([
      200,
      { workflow_id: id, status: 'completed', output: { approved: true, session_created: false } },
    ]);
  });

  it('is the person’s own: another’s link is rejected, and shows no token on the page that asks', async () => {
    const { state } = await asked();
    const bystander = await signIn('bystander');
    const page = await bystander.visit(`/api/v1/elevate/resume?state=${state}`);
    expect(page.body.replaceAll(`action="/api/v1/elevate/resume?state=${state}"`, '')).not.toContain(state);
    const tried = await bystander.visit(`/api/v1/elevate/resume?state=${state}`, {
      form: { csrf_token: tokenIn(page.body) },
    });
    expect([403, 404]).toContain(tried.status);
  });
});

describe('signing out', () => {
  it('ends the login everywhere and clears the cookie; again is no error', async () => {
    const belay = await signIn('requester');
    const token = belay.cookies.get('belay') ?? '';
    const elsewhere = await belay.visit('/api/v1/auth/logout', { site: 'cross-site' });
    expect(elsewhere.body).toContain('Nothing has happened yet');
    expect(belay.cookies.has('belay')).toBe(true);
    const out = await belay.visit('/api/v1/auth/logout');
    expect([out.status, belay.cookies.has('belay')]).toEqual([200, false]);
    expect(out.body).toContain('You are signed out');
    const after = await send(`${world.url}/api/v1/roles`, { headers: { authorization: `Bearer ${token}` } });
    expect(after.status).toBe(401);
    expect((await belay.visit('/api/v1/auth/logout')).status).toBe(200);
  });

  it('of a provider one is not signed in with changes nothing', async () => {
    const belay = await signIn('requester');
    await belay.visit('/api/v1/auth/logout/store');
    expect(belay.cookies.has('belay')).toBe(true);
    await belay.visit('/api/v1/auth/logout/demo');
    expect(belay.cookies.has('belay')).toBe(false);
  });
});

describe('behind https', () => {
  it('cookies carry the prefix and Secure, and browsers are told to stay', async () => {
    await using secure = await createWorld({ https: true });
    const begun = await send(`${secure.url}/api/v1/auth/request/demo`);
    expect(begun.headers['set-cookie']?.[0]).toMatch(
      /^__Host-belay-flow=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
    );
    expect(begun.headers['strict-transport-security']).toBe('max-age=31536000');
  });
});
