import { describeApi, serverRouter } from '@belay/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whoDecides } from '../../src/http/pages/approvers.js';
import { devicePage } from '../../src/http/pages/device.js';
import { Diagram } from '../../src/http/pages/diagram.js';
import { dynamicPage } from '../../src/http/pages/dynamic.js';
import { type ExecutionSummary, executionsPage } from '../../src/http/pages/executions.js';
import { renderPage } from '../../src/http/pages/page.js';
import { readable } from '../../src/http/pages/readable.js';
import { referencePage } from '../../src/http/pages/reference.js';
import { suggestionPage } from '../../src/http/pages/suggest.js';
import type { View } from '../../src/http/pages/view.js';
import * as words from '../../src/http/pages/words.js';
import * as browserWords from '../../src/http/static/words.js';
import { send } from './support/serve.js';
import { createWorld, type Person, type World } from './support/world.js';

const view: View = {
  basePath: '/api/v1',
  path: '/api/v1/home',
  input: {},
  now: new Date('2026-01-02T03:04:05.678Z'),
  viewer: { name: '<b>Rita</b>', email: 'rita@example.test' },
  waiting: 0,
  offers: () => true,
  csrf: (action) => `token for ${action}`,
  once: () => 'good-once',
};

describe('words', () => {
  it('are the same on the server and in the browser, which takes them over', () => {
    const moments = [0, 1, 44, 45, 59, 60, 89, 90, 3599, 3600, 5399, 5400, 86_399, 86_400, 129_600, 900_000];
    for (const seconds of moments.flatMap((each) => [each, -each])) {
      const milliseconds = seconds * 1000;
      const { leftInWords, relativeInWords } = browserWords as typeof words;
      expect([seconds, leftInWords(milliseconds)]).toEqual([seconds, words.leftInWords(milliseconds)]);
      expect([seconds, relativeInWords(milliseconds)]).toEqual([seconds, words.relativeInWords(milliseconds)]);
    }
    expect(words.leftInWords(899_999)).toBe('14 min 59 s left');
    expect(words.relativeInWords(-120_000)).toBe('2 minutes ago');
  });

  it('say durations and moments as people do, and leave alone what they cannot read', () => {
    expect(words.durationInWords('PT1H30M')).toBe('1 hour 30 minutes');
    expect(words.durationInWords('P1DT1S')).toBe('1 day 1 second');
    expect(words.durationInWords('soon')).toBe('soon');
    expect(words.momentInWords('2026-01-02T03:04:05.678Z')).toBe('2 Jan 2026, 03:04:05 UTC');
    expect(readable('asks for Pipes for PT15M: until 2026-01-02T03:04:05.678Z')).toBe(
      'asks for Pipes for 15 minutes: until 2 Jan 2026, 03:04:05 UTC',
    );
  });
});

const approve = (stage: object) => ({ call: 'access.approve', with: { stages: [stage] } });

describe('the reference', () => {
  it('shows every form that an answer can have', () => {
    const document = describeApi(serverRouter, { baseUrl: 'http://x', basePath: '/api/v1', version: '1.0.0' });
    const page = renderPage(referencePage(document, '/api/v1'), view);
    const from = page.indexOf('/auth/device/token</code>');
    const card = page.slice(from, page.indexOf('</details>', from));
    expect(from).toBeGreaterThan(0);
    for (const field of ['status', 'interval', 'expires_at', 'session', 'user'])
      expect(card).toContain(`<code>${field}<`);
  });
});

describe('a moment in a page', () => {
  it('is told in words wherever it comes from', () => {
    const execution = {
      workflow_id: 'x',
      status: 'waiting',
      role: 'reader',
      providers: ['store'],
      reason: '',
      start_time: '2026-01-02T03:00:00.000Z',
      waiting_for: ['the end of the access at 2026-01-02T03:04:05.678Z'],
    } as unknown as ExecutionSummary;
    const list = renderPage(executionsPage({ executions: [execution], next: null }, view), view);
    expect(list).toContain('Waits for the end of the access at 2 Jan 2026, 03:04:05 UTC.');
    const request = {
      user_code: 'FCZL-GBTP',
      label: 'build-3',
      asked_at: '2026-01-02T03:04:00.000Z',
      expires_at: '2026-01-02T03:14:00.000Z',
    };
    expect(renderPage(devicePage({ request }, view), view)).toContain('2 Jan 2026, 03:04:00 UTC');
  });
});

describe('who decides', () => {
  it('is read from the approvals of a workflow, however deep they are', () => {
    const table: [unknown[], string][] = [
      [
        [{ ask: approve({ approvers: { groups: ['dba'] }, timeout: 'PT1H' }) }],
        'One person of the group dba, within 1 hour',
      ],
      [[{ ask: approve({ approvers: { users: ['a@b.test'] } }) }], 'a@b.test'],
      [
        [{ outer: { try: [{ ask: approve({ approvers: { users: ['a@b.test'], groups: ['dba'] }, count: 2 }) }] } }],
        '2 people of a@b.test or the group dba',
      ],
      [
        [{ both: { fork: { branches: [{ one: approve({ approvers: { groups: ['x'] } }) }] } } }],
        'One person of the group x',
      ],
      [
        [{ ask: approve({ approvers: { groups: ['${ .group }'] } }) }],
        'Somebody whom the workflow works out when it runs',
      ],
      [[{ grant: { call: 'access.grant' } }], 'Nobody has to approve it: this workflow has no approval'],
    ];
    for (const [tasks, expected] of table) expect(whoDecides(tasks)).toBe(expected);
  });
});

describe('the picture of a workflow', () => {
  it('shows every task with what it does and where it goes, escaped', () => {
    const tasks = [
      { look: { call: 'http', with: { method: 'get', endpoint: 'https://a.test/<script>' } } },
      { choose: { switch: [{ yes: { when: '${ .ok }', then: 'apart' } }, { no: { then: 'end' } }] } },
      { apart: { fork: { branches: [{ left: { wait: 'PT5M' } }, { right: { set: { a: 1 } } }] } } },
      { safe: { try: [{ inner: { call: 'access.grant' } }], catch: { do: [{ tell: { emit: {} } }] } } },
    ];
    const markup = renderPage({ title: 'Picture', content: Diagram({ tasks }) }, view);
    for (const text of ['look', 'choose', 'apart', 'left', 'right', 'safe', 'inner', 'tell', 'Wait 5 minutes', '.ok']) {
      expect(markup).toContain(text);
    }
    expect(markup).toContain('href="#task-apart"');
    expect(markup).toContain('id="task-apart"');
    expect(markup).toContain('GET https://a.test/&lt;script');
    expect(markup).toContain('&lt;b>Rita');
    expect(markup).not.toMatch(/<script|style=|\son\w+=/);
  });

  it('survives a definition that is nothing like one', () => {
    for (const tasks of [[], [null], ['x'], [{ a: 1 }], [{ a: { switch: 'x', fork: 1, catch: 2, then: 'a' } }]]) {
      expect(renderPage({ title: 'Odd', content: Diagram({ tasks }) }, view)).toContain('The end');
    }
  });
});

describe('a suggestion', () => {
  const role = {
    name: 'reader',
    description: 'Read the store',
    providers: ['store', 'archive'],
    workflows: ['approve-and-grant'],
    enabled: true,
    max_duration: 'PT1H',
    default_duration: 'PT15M',
    reason: { required: true },
    inherits: [],
    grants: [],
  };
  const output = {
    suggested_role: 'reader',
    suggested_duration: 'PT20M',
    suggested_providers: ['archive'],
    matched: ['read'],
    alternatives: [{ suggested_role: 'writer', suggested_duration: 'PT5M', suggested_providers: [] }],
  };

  it('is the form to ask with, filled in and still the person’s to change; it asks for nothing itself', () => {
    const input = { reason: 'read "it" for 20 minutes </textarea><script>' };
    const workflows = new Map([['approve-and-grant', { document: { do: [] } } as never]]);
    const page = suggestionPage({ status: 'suggested', output }, { role, workflows }, { ...view, input });
    const markup = renderPage(page, view);
    expect(markup).toContain('Nothing has been asked for yet');
    expect(markup).toMatch(/<form method="post" action="\/api\/v1\/elevate">/);
    expect(markup).toMatch(/<option value="PT20M" selected>20 minutes/);
    expect(markup).toMatch(/<option value="archive" selected>/);
    expect(markup).toContain('href="/api/v1/role/writer"');
    expect(markup).not.toContain('</textarea><script>');
  });

  it('that is none says so and keeps the words', () => {
    const none = { status: 'no_match', output: { ...output, suggested_role: '', alternatives: [] } };
    const found = { role: undefined, workflows: new Map() };
    const markup = renderPage(suggestionPage(none, found, { ...view, input: { reason: 'tea' } }), view);
    expect(markup).toContain('Nothing fits');
    expect(markup).toMatch(/<textarea[^>]*>tea<\/textarea>/);
    expect(markup).not.toContain('action="/api/v1/elevate"');
  });
});

describe('the form of a request without a role', () => {
  const rules = (...allow: string[]) => ({ allow, deny: ['never'] });
  const bound = (provider: string, more: object = {}) => ({
    provider,
    name: `The <${provider}>`,
    permissions: rules('a.*'),
    resources: rules(),
    groups: rules('g'),
    workflows: ['approve'],
    max_duration: 'PT1H',
    default_duration: 'PT15M',
    for_others: false,
    ...more,
  });

  it('asks where when there is a choice, for whom when one may, and keeps what was chosen when it comes back', () => {
    const bounds = [bound('one', { for_others: true }), bound('two', { workflows: ['approve', 'quick'] })];
    const first = renderPage(dynamicPage({ bounds }, view), view);
    expect(first.match(/type="checkbox"/g)).toHaveLength(2);
    expect(first).toContain('The &lt;one');
    for (const name of ['permissions', 'groups', 'users', 'reason', 'duration', 'workflow']) {
      expect(first).toContain(`name="${name}"`);
    }
    expect(first).not.toContain('name="resources"');
    expect(first).not.toContain('role="alert"');
    const refused = {
      message: 'no',
      code: 'FORBIDDEN',
      issues: [{ path: 'identities', message: 'names somebody else' }],
    };
    const input = { providers: ['two'], users: ['eve@x.test'], workflow: 'quick' };
    const again = renderPage(dynamicPage({ bounds }, { ...view, input, refused }), view);
    expect(again).toMatch(/value="two" checked/);
    expect(again).not.toMatch(/value="one" checked/);
    expect(again).toMatch(/<option value="quick" selected/);
    expect(again).toMatch(/<a href="#users">For others<\/a>: names somebody else/);
    expect(again).toMatch(/id="users"[^>]*aria-invalid="true"[^>]*value="eve@x.test"/);
  });
});

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
    expect([asked.status, asked.headers.location]).toEqual([
      303,
      expect.stringMatching(/^\/api\/v1\/execution\/[\w-]{36}$/),
    ]);
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

  it('and links that act say which request they are about, with what agreeing means, and lead back to it', async () => {
    const rita = await signIn('requester');
    const csrf_token = tokenFor(await open(rita, '/api/v1/role/reader'), elevate);
    const asked = await post(rita, elevate, { ...wanted, reason: 'A long incident', csrf_token });
    const path = String(asked.headers.location);
    for (const [act, meaning] of [
      ['cancel', 'The workflow may clean up first'],
      ['terminate', 'cleans up nothing'],
    ]) {
      const page = await open(rita, `${path}/${act}`);
      expect(page).toContain('Nothing has happened yet');
      expect(page).toContain(meaning);
      expect(page).toMatch(/<dt>Role<\/dt><dd>reader<\/dd>/);
      expect(page).toContain('A long incident');
      expect(page).toContain(`href="${path}"`);
      // Whoever may not see it learns nothing of it.
      expect(await open(await signIn('bystander'), `${path}/${act}`)).not.toContain('A long incident');
    }
    await post(rita, `${path}/cancel`, { csrf_token: tokenFor(await open(rita, `${path}/cancel`), `${path}/cancel`) });
    expect(await open(rita, path)).toMatch(/href="\/api\/v1\/role\/reader"[^>]*>Ask for it again/);
  });

  it('and refusals say what is missing as people would, with a way on', async () => {
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
      { message: 'The request is not valid', issues: [{ path: 'reason', message: 'may not be empty' }] },
      { message: 'reason: is required' },
    ]);
    expect(await open(rita, '/api/v1/auth/device?user_code=ZZZZ-ZZZZ')).toMatch(
      /href="\/api\/v1\/auth\/device">\s*Type/,
    );
  });

  it('that nobody can read are refused with what is wrong with which part', async () => {
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
      issues: [{ path: 'colour', message: 'is not known here' }],
    });
    const input = { role: 'reader', colour: 'red' };
    expect(await ask('/execution', JSON.stringify({ workflow: 'x', input }))).toMatchObject({
      issues: [{ path: 'input.colour', message: 'is not known here' }],
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

  it('and the front door lead home, or to sign in', async () => {
    const door = await send(`${world.url}/`);
    expect([door.status, door.headers.location]).toEqual([302, '/api/v1/home']);
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
        page.body.replaceAll(/<script type="module" src="\/api\/v1\/assets\/live\.js\?v=[\w-]+"><\/script>/g, ''),
      ).not.toMatch(/<script|<style|style=|\son\w+=/);
      const json = await send(`${world.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${rita}` } });
      expect([path, json.headers['content-type']]).toEqual([path, 'application/json; charset=utf-8']);
    }
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
