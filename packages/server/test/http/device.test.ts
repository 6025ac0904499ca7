import { createClient } from '@belay/sdk';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Started {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  interval: number;
}
const start = async (label = 'belay on build-3') =>
  (await callRest(world.url, 'POST', '/auth/device/authorization', { body: { label } })).json as unknown as Started;
const poll = (device_code: string) => callRest(world.url, 'POST', '/auth/device/token', { body: { device_code } });

/** Signs a browser in, and opens the page of a code. */
async function openPage(code: string) {
  const visitor = openVisitor(world.url);
  await visitor.signIn('demo', people.requester.subject);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const page = await visitor.visit(`/auth/device?user_code=${code}`, { accept: 'text/html' });
  const token =
    /action="\/api\/v1\/auth\/device"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"/.exec(
      page.body,
    )?.[1] ?? '';
  const submit = (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams(fields).toString();
    return send(`${world.url}/api/v1/auth/device`, {
      method: 'POST',
      body,
      headers: {
        accept: 'text/html',
        cookie,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(body.length),
        ...headers,
      },
    });
  };
  return { page, token, submit, cookie };
}

describe('a login for a machine without a browser', () => {
  it('is confirmed in any browser that is signed in, and handed out once, with its session', async () => {
    const started = await start();
    expect(started.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(started.verification_uri_complete).toBe(`${started.verification_uri}?user_code=${started.user_code}`);
    const asked = await Promise.all([poll(started.device_code), poll(started.device_code)]);
    expect(asked.map(({ json }) => json.status).sort()).toEqual(['pending', 'slow_down']);
    const { page, token, submit } = await openPage(started.user_code.toLowerCase().replace('-', ' '));
    for (const text of ['belay on build-3', 'rita@example.test', 'reject it']) expect(page.body).toContain(text);
    const done = await submit({ csrf_token: token, user_code: started.user_code, verdict: 'approve' });
    expect([done.status, done.body]).toEqual([200, expect.stringContaining('is signed in as rita@example.test')]);
    const login = (await poll(started.device_code)).json as { token: string; session: { session: string } };
    expect(login).toMatchObject({ status: 'complete', user: { email: 'rita@example.test', provider: 'demo' } });
    const client = createClient({ url: world.url, token: login.token });
    expect((await client.auth.whoami()).email).toBe('rita@example.test');
    expect((await client.sessions.verify(login.session.session)).provider).toBe('demo');
    expect((await poll(started.device_code)).status).toBe(400);
  });

  it('is handed out to one of two that ask at once', async () => {
    const started = await start();
    const { token, submit } = await openPage(started.user_code);
    await submit({ csrf_token: token, user_code: started.user_code, verdict: 'approve' });
    const answers = await Promise.all([1, 2, 3, 4].map(() => poll(started.device_code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });

  it('is rejected for good when its person rejects it', async () => {
    const started = await start();
    const { token, submit } = await openPage(started.user_code);
    expect((await submit({ csrf_token: token, user_code: started.user_code, verdict: 'deny' })).status).toBe(200);
    expect((await poll(started.device_code)).status).toBe(403);
    const again = await submit({ csrf_token: token, user_code: started.user_code, verdict: 'approve' });
    expect(again.status).toBe(404);
  });

  it('is confirmed by the page of this login only: no token, another site, a program’s token', async () => {
    const started = await start();
    const { token, submit, cookie } = await openPage(started.user_code);
    const fields = { user_code: started.user_code, verdict: 'approve' };
    expect((await submit(fields)).status).toBe(403);
    expect((await submit({ ...fields, csrf_token: 'x' })).status).toBe(403);
    expect((await submit({ ...fields, csrf_token: token }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const headers = { cookie, 'sec-fetch-site': 'cross-site' };
    expect((await callRest(world.url, 'POST', '/auth/device', { body: fields, headers })).status).toBe(403);
    const bearer = await world.token('requester', 'device');
    expect((await callRest(world.url, 'POST', '/auth/device', { body: fields, token: bearer })).status).toBe(403);
    expect((await poll(started.device_code)).json).toMatchObject({ status: 'pending' });
  });

  it('sends a visitor who is not signed in to sign in first, and back', async () => {
    const answer = await send(`${world.url}/api/v1/auth/device?user_code=BBBB-BBBB`, {
      headers: { accept: 'text/html' },
    });
    expect([answer.status, String(answer.headers.location)]).toEqual([
      302,
      expect.stringContaining(encodeURIComponent('/api/v1/auth/device?user_code=BBBB-BBBB')),
    ]);
  });

  it('says nothing about codes that are not: unknown, too short, decided', async () => {
    const person = await world.token('requester');
    for (const code of ['BBBB-BBBB', 'x', '', '%00']) {
      const answer = await callRest(world.url, 'GET', `/auth/device?user_code=${code}`, { token: person });
      expect([code, answer.status]).toEqual([code, 404]);
    }
    expect((await poll('nonsense')).status).toBe(400);
    expect((await poll('')).status).toBe(400);
  });

  it('is confirmed in a browser only: a program’s token in a cookie’s place makes no further login', async () => {
    const started = await start();
    const token = await world.token('requester', 'device');
    const answer = await callRest(world.url, 'POST', '/auth/device', {
      body: { user_code: started.user_code, verdict: 'approve' },
      headers: { cookie: `belay=${token}`, 'sec-fetch-site': 'same-origin' },
    });
    expect(answer.status).toBe(401);
    expect((await poll(started.device_code)).json).toMatchObject({ status: 'pending' });
  });

  it('shows the code that would be confirmed, and not what a link made of it', async () => {
    const started = await start();
    const disguised = `\u0412\u0421\u0412\u0421-1234 ${started.user_code.toLowerCase()}`;
    const { page } = await openPage(encodeURIComponent(disguised));
    expect(page.status).toBe(200);
    expect(page.body).toContain(`>${started.user_code}<`);
    // The tokens of the page are random, and could contain these digits.
    expect(page.body.replaceAll(/name="csrf_token" value="[^"]*"/g, '')).not.toContain('1234');
  });

  it.each(['build\u202e3', 'build\n3', 'build\u001b[2J3', 'build\u200b3', '   '])(
    'takes no name that a terminal, a log or a page shows as another: %j',
    async (label) => {
      const answer = await callRest(world.url, 'POST', '/auth/device/authorization', { body: { label } });
      expect(answer.status).toBe(400);
    },
  );

  it('has a session that ends with the one it was confirmed in, however late', async () => {
    const visitor = openVisitor(world.url);
    await visitor.signIn('demo', people.requester.subject);
    const [own] = await world.database.sql`select expires_at from sessions order by created_at desc limit 1`;
    const [clock] = await world.database.sql`select now() as now`;
    await world.database.setTime(new Date(new Date(clock?.now).getTime() + 30 * 60_000));
    try {
      const started = await start();
      await visitor.visit('/auth/device', { body: { user_code: started.user_code, verdict: 'approve' } });
      await world.database.advance(60_000);
      const { json } = await poll(started.device_code);
      expect(json).toMatchObject({ status: 'complete' });
      const { session } = json as { session: { expiry: string } };
      expect(Date.parse(session.expiry)).toBeLessThanOrEqual(new Date(own?.expires_at).getTime());
    } finally {
      await world.database.sql`delete from test_clock`;
    }
  });

  it('is void when the person who confirmed it signs out before it is fetched', async () => {
    const visitor = openVisitor(world.url);
    await visitor.signIn('demo', people.requester.subject);
    const started = await start();
    const done = await visitor.visit('/auth/device', { body: { user_code: started.user_code, verdict: 'approve' } });
    expect(done.status).toBe(200);
    await visitor.visit('/auth/logout');
    expect((await poll(started.device_code)).status).toBe(400);
  });

  it('is confirmed still when its browser signs in with one more provider meanwhile', async () => {
    const visitor = openVisitor(world.url);
    await visitor.signIn('demo', people.requester.subject);
    const started = await start();
    await visitor.visit('/auth/device', { body: { user_code: started.user_code, verdict: 'approve' } });
    await visitor.signIn('demo', people.requester.subject);
    expect((await poll(started.device_code)).json).toMatchObject({ status: 'complete', session: { version: 1 } });
  });
});
