import { send } from '@belay/testkit/serve';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('forms', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const html = 'text/html,*/*;q=0.8';
  const form = 'application/x-www-form-urlencoded';
  const asBrowser = (token: string) => ({ cookie: `belay=${token}`, accept: html, 'sec-fetch-site': 'same-origin' });
  const open = async (token: string, path: string) =>
    (await send(`${world.url}${path}`, { headers: asBrowser(token) })).body;
  const post = (token: string, path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    send(`${world.url}${path}`, {
      method: 'POST',
      headers: { ...asBrowser(token), 'content-type': form, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const tokenFor = (page: string, action: string) =>
    new RegExp(`action="${action}"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"`).exec(page)?.[1] ?? '';
  const signIn = (person: Person) => world.token(person);
  const elevate = '/api/v1/elevate';
  const wanted = { role: 'reader', reason: 'An incident', duration: 'PT15M', identities: '' };

  it('of a cookie act only with the token of our own page, for this login and this address', async () => {
    const rita = await signIn('requester');
    const page = await open(rita, '/api/v1/role/reader');
    const csrf_token = tokenFor(page, elevate);
    expect(csrf_token).not.toBe('');
    const another = tokenFor(await open(await signIn('approver'), '/api/v1/home'), '/api/v1/auth/logout');
    const foreign = tokenFor(await open(await signIn('requester'), '/api/v1/role/reader'), elevate);
    const signOut = tokenFor(page, '/api/v1/auth/logout');
    for (const token of ['', 'forged', another, foreign, signOut]) {
      expect((await post(rita, elevate, { ...wanted, csrf_token: token })).status).toBe(403);
    }
    expect((await post(rita, elevate, wanted)).status).toBe(403);
    for (const site of ['cross-site', 'same-site']) {
      expect((await post(rita, elevate, { ...wanted, csrf_token }, { 'sec-fetch-site': site })).status).toBe(403);
    }
    const asked = await post(rita, elevate, { ...wanted, csrf_token });
    expect([asked.status, asked.headers.location]).toEqual([303, expect.stringMatching(/^\/requests\/[\w-]{36}$/)]);
  });

  it('of a program need no token, and answer JSON', async () => {
    const token = await signIn('requester');
    const answer = await send(`${world.url}${elevate}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': form },
      body: new URLSearchParams({ ...wanted, providers: 'store' }).toString(),
    });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([200, { status: 'pending' }]);
  });

  it('are read as multipart too, without files, and under the same rules', async () => {
    const token = await signIn('requester');
    const sendParts = (parts: [name: string, extra: string, value: string][], headers: Record<string, string>) =>
      send(`${world.url}${elevate}`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=edge', ...headers },
        body: `${parts
          .map(
            ([name, extra, value]) =>
              `--edge\r\nContent-Disposition: form-data; name="${name}"${extra}\r\n\r\n${value}\r\n`,
          )
          .join('')}--edge--\r\n`,
      });
    const bearer = { authorization: `Bearer ${token}` };
    const fields: [string, string, string][] = [
      ['role', '', 'reader'],
      ['providers', '', 'store'],
      ['reason', '', 'Ein Zwischenfall: grün & rot'],
    ];
    expect((await sendParts(fields, bearer)).status).toBe(200);
    expect((await sendParts([...fields, ['role', '', 'secret']], bearer)).status).toBe(400);
    expect((await sendParts([...fields, ['duration', '; filename="a.txt"', 'PT5M']], bearer)).status).toBe(400);
    expect((await sendParts(fields, asBrowser(token))).status).toBe(403);
    const broken = await send(`${world.url}${elevate}`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=edge', ...bearer },
      body: 'no form at all',
    });
    expect(broken.status).toBe(400);
    const unread = await send(`${world.url}/api/v1/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=edge' },
      body: '--edge--\r\n',
    });
    expect(unread.status).toBe(415);
  });

  it('decide about exactly what was shown, and not about one’s own', async () => {
    const [rita, adam] = await Promise.all([signIn('requester'), signIn('approver')]);
    const csrf_token = tokenFor(await open(rita, '/api/v1/role/reader'), elevate);
    const asked = await post(rita, elevate, { ...wanted, reason: '<i>slant</i>', csrf_token });
    await world.drive();
    const path = String(asked.headers.location);
    expect(await open(rita, path)).not.toContain('value="approve"');
    const page = await open(adam, path);
    expect(page).toContain('&lt;i>slant');
    const action = /action="(\/api\/v1\/approvals\/[\w-]+\/decision)"/.exec(page)?.[1] ?? '';
    const digest = /name="request_digest" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const decision = { verdict: 'approve', comment: '', csrf_token: tokenFor(page, action) };
    expect((await post(adam, action, { ...decision, request_digest: `${digest}x` })).status).toBe(409);
    const decided = await post(adam, action, { ...decision, request_digest: digest });
    expect([decided.status, decided.headers.location]).toEqual([303, path]);
    const again = await post(adam, action, { ...decision, request_digest: digest });
    expect([again.status, again.body]).toEqual([409, expect.stringContaining('role="alert"')]);
  });

  it('and confirmation pages name the request, explain the action and link back to it', async () => {
    const rita = await signIn('requester');
    const csrf_token = tokenFor(await open(rita, '/api/v1/role/reader'), elevate);
    const asked = await post(rita, elevate, { ...wanted, reason: 'A long incident', csrf_token });
    const path = String(asked.headers.location);
    for (const [act, meaning] of [
      ['cancel', 'The workflow can run its clean-up first'],
      ['terminate', 'stops without clean-up'],
    ]) {
      const page = await open(rita, `${path}/${act}`);
      expect(page).toContain('Nothing has happened yet');
      expect(page).toContain(meaning);
      expect(page).toMatch(/<dt>Role<\/dt><dd>reader<\/dd>/);
      expect(page).toContain('A long incident');
      expect(page).toContain(`href="${path}"`);
      // A caller who cannot see the request gets the same response as for a request that does not exist.
      expect(await open(await signIn('bystander'), `${path}/${act}`)).not.toContain('A long incident');
    }
    // The CSRF token of the form is for the documented path that it posts to.
    const cancel = `${path.replace('/requests/', '/api/v1/execution/')}/cancel`;
    await post(rita, cancel, { csrf_token: tokenFor(await open(rita, `${path}/cancel`), cancel) });
    const over = await open(rita, path);
    expect(over).toMatch(/href="#again"[^>]*>Request again/);
    expect(over).toMatch(/<textarea[^>]*name="reason"[^>]*>A long incident/);
  });

  it('and errors name the missing field and offer the next step', async () => {
    const rita = await signIn('requester');
    const page = await open(rita, `${elevate}?role=reader&provider=store`);
    expect(page).toMatch(/<code>reason<\/code> is required/);
    const headers = { authorization: `Bearer ${rita}`, 'content-type': 'application/json' };
    const answers = await Promise.all(
      [
        { role: 'reader', providers: ['store'] },
        { role: 'reader', reason: '' },
        { role: 'reader', reason: ' ' },
      ].map((body) => send(`${world.url}${elevate}`, { method: 'POST', headers, body: JSON.stringify(body) })),
    );
    expect(answers.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      { message: 'reason: is required', issues: [{ path: 'reason', message: 'is required' }] },
      { message: 'The request is not valid', issues: [{ path: 'reason', message: 'must not be empty' }] },
      { message: 'reason: is required' },
    ]);
    expect(await open(rita, '/api/v1/auth/device?user_code=ZZZZ-ZZZZ')).toMatch(
      /href="\/api\/v1\/auth\/device">\s*Enter code again/,
    );
  });

  it('that cannot be read are rejected with the field and the fault', async () => {
    const token = await signIn('requester');
    const bearer = { authorization: `Bearer ${token}` };
    const ask = async (path: string, body?: string) =>
      JSON.parse(
        (
          await send(`${world.url}/api/v1${path}`, {
            ...(body === undefined ? {} : { method: 'POST', body }),
            headers: { ...bearer, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          })
        ).body,
      ) as object;
    const whole = (message: string) => ({ message, issues: [{ path: '', message }] });
    expect(await ask('/elevate', '{no')).toMatchObject(whole('The body is not JSON'));
    expect(await ask('/role/%zz')).toMatchObject({
      issues: [{ path: 'role', message: 'is not percent-encoded UTF-8' }],
    });
    expect(await ask('/elevate/resume?state=zz')).toMatchObject(whole('The token is not valid or has expired'));
    expect(await ask('/roles?colour=red')).toMatchObject({
      issues: [{ path: 'colour', message: 'is not a known field' }],
    });
    const input = { role: 'reader', colour: 'red' };
    expect(await ask('/execution', JSON.stringify({ workflow: 'x', input }))).toMatchObject({
      issues: [{ path: 'input.colour', message: 'is not a known field' }],
    });
  });

  it('leave out what was not filled in', async () => {
    const rita = await signIn('requester');
    const logs = await send(`${world.url}/api/v1/logs?level=&provider=&workflow_id=`, { headers: asBrowser(rita) });
    expect(logs.status).toBe(200);
    const strict = await send(`${world.url}/api/v1/logs?level=`, { headers: { authorization: `Bearer ${rita}` } });
    expect(strict.status).toBe(400);
  });

  it('and pages are not prefetched into acting', async () => {
    const rita = await signIn('requester');
    const headers = { ...asBrowser(rita), accept: 'application/json', 'sec-purpose': 'prefetch' };
    const answer = await send(`${world.url}${elevate}?role=reader&provider=store&reason=x`, { headers });
    expect(answer.status).toBe(403);
  });

  it('and the front door is the start page, or leads to sign in', async () => {
    const door = await send(`${world.url}/`, { headers: asBrowser(await signIn('requester')) });
    expect([door.status, door.body]).toEqual([200, expect.stringContaining('<h1>Hello, ')]);
    const closed = await send(`${world.url}/`, { headers: { accept: html } });
    expect([closed.status, closed.headers.location]).toEqual([
      302,
      expect.stringMatching(/^\/api\/v1\/auth\?callback=[^&]*%2F$/),
    ]);
    const stranger = await send(`${world.url}/api/v1/home`, { headers: { accept: html } });
    expect([stranger.status, stranger.headers.location]).toEqual([
      302,
      expect.stringMatching(/^\/api\/v1\/auth\?callback=/),
    ]);
    expect((await send(`${world.url}/api/v1/home`, { method: 'POST' })).status).toBe(405);
  });

  it('and every page there is are pages for a browser and JSON for a program', async () => {
    const rita = await signIn('requester');
    const paths = [
      'roles',
      'role/reader',
      'providers',
      'provider/store',
      'workflows',
      'workflow/approve-and-grant',
      'logs',
    ];
    for (const path of [...paths, 'executions', 'approvals', 'access']) {
      const page = await send(`${world.url}/api/v1/${path}`, { headers: asBrowser(rita) });
      expect([path, page.status, page.headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
      expect(
        page.body.replaceAll(/<script type="module" src="\/api\/v1\/assets\/[a-z]+\.js\?v=[\w-]+"><\/script>/g, ''),
      ).not.toMatch(/<script|<style|style=|\son\w+=/);
      const json = await send(`${world.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${rita}` } });
      expect([path, json.headers['content-type']]).toEqual([path, 'application/json; charset=utf-8']);
    }
  });

  it('have short addresses that answer the same pages and lead strangers back to themselves', async () => {
    const rita = await signIn('requester');
    const titleOf = (body: string) => /<title>([^<]*)</.exec(body)?.[1];
    for (const [short, documented] of [
      ['/requests', 'executions'],
      ['/inbox', 'approvals'],
      ['/roles', 'roles'],
      ['/roles/reader', 'role/reader'],
      ['/access', 'access'],
      ['/systems/store', 'provider/store'],
      ['/workflows/approve-and-grant', 'workflow/approve-and-grant'],
      ['/audit', 'logs'],
    ] as const) {
      const page = await open(rita, short);
      expect([short, titleOf(page)]).toEqual([short, titleOf(await open(rita, `/api/v1/${documented}`))]);
      expect(page).toMatch(/aria-current="(page|true)"/);
      const stranger = await send(`${world.url}${short}?a=b`, { headers: { accept: html } });
      expect([stranger.status, decodeURIComponent(String(stranger.headers.location))]).toEqual([
        302,
        expect.stringMatching(new RegExp(`callback=\\S+${short}\\?a=b$`)),
      ]);
    }
    for (const none of ['/requests/none', '/constructor', '/__proto__', '/roles/%E0', '/inbox/a/b/c/d'])
      expect([none, (await send(`${world.url}${none}`, { headers: asBrowser(rita) })).status]).toEqual([
        none,
        none.includes('%') ? 400 : 404,
      ]);
  });

  it('can be searched, for what the person may see', async () => {
    const rita = await signIn('requester');
    const page = await open(rita, '/search?q=reader');
    expect(page).toContain('href="/roles/reader"');
    expect(await open(rita, '/search?q=%3Cb%3E')).toContain('Nothing matches “&lt;b>”');
    expect(await open(rita, '/search?q=secret')).not.toContain('href="/roles/secret"');
  });

  it('and the reference names every operation of the document', async () => {
    const { body, status } = await send(`${world.url}/api/v1/reference`);
    expect(status).toBe(200);
    const published = await send(`${world.url}/api/v1/openapi.json`);
    const { paths } = JSON.parse(published.body) as { paths: Record<string, Record<string, { summary: string }>> };
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        expect(body).toContain(`<span class="badge">${method.toUpperCase()}</span> <code>${path}</code>`);
      }
    }
    expect(body).not.toMatch(/<script|<style|style=|\son\w+=/);
  });

  it('and what they load is kept for as long as it is the same', async () => {
    const page = await open(await signIn('requester'), '/api/v1/home');
    for (const [, address = ''] of page.matchAll(/(?:src|href)="(\/api\/v1\/assets\/[^"]+)"/g)) {
      const { status, headers } = await send(`${world.url}${address}`);
      expect([address, status, headers['cache-control']]).toEqual([
        address,
        200,
        'public, max-age=31536000, immutable',
      ]);
      const plain = await send(`${world.url}${address.replace(/\?.*/, '')}`);
      expect(plain.headers['cache-control']).toBe('public, max-age=300');
    }
  });
});
