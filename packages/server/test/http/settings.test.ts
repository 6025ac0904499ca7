import { type Connector, webhookConnector } from '@belay/providers';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
let rita: string;
beforeAll(async () => {
  world = await createWorld({
    connectors: [webhookConnector as Connector],
    change: (document) => ({
      ...document,
      access: { auditors: { groups: ['approvers'] } },
      providers: {
        ...document.providers,
        chat: {
          provider: 'webhook',
          config: { url: 'https://hooks.example.test/', secrets: [`whsec_${Buffer.alloc(32, 1).toString('base64')}`] },
        },
      },
      roles: { ...document.roles, shown: { ...document.roles.secret, discoverable: true } },
      messages: { channels: ['chat'] },
    }),
  });
  rita = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

const headers = (token: string) => ({ cookie: `belay=${token}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' });
const open = (path: string, token = rita) => send(`${world.url}${path}`, { headers: headers(token) });

async function save(fields: [string, string][]) {
  const action = '/api/v1/preferences';
  const { body } = await open('/settings');
  const token = new RegExp(`action="${action}"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"`).exec(
    body,
  )?.[1];
  return send(`${world.url}${action}`, {
    method: 'POST',
    headers: { ...headers(rita), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([['csrf_token', token ?? ''], ...fields]).toString(),
  });
}

describe('the page of settings', () => {
  it('stores what its form chooses, without a script', async () => {
    const saved = await save([
      ['told', 'access.ending'],
      ['told', 'request.decided'],
      ['channels', 'chat'],
      ['quiet_from', '22:00'],
      ['quiet_to', '07:00'],
      ['time_zone', 'Europe/Berlin'],
    ]);
    expect([saved.status, saved.headers.location]).toEqual([303, '/settings']);
    const { json } = await callRest(world.url, 'GET', '/preferences', { token: rita });
    const { available, ...stored } = json as { available: { kinds: string[] } };
    expect(stored).toEqual({
      channels: null,
      muted: available.kinds.filter((kind) => !['access.ending', 'request.decided'].includes(kind)),
      quiet_hours: { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' },
    });
    const { body } = await open('/settings');
    expect(body).toMatch(/<input[^>]*value="access.ending"[^>]*checked/);
    expect(body).not.toMatch(/<input[^>]*value="access.active"[^>]*checked/);
    expect(body).toContain('value="22:00"');
  });

  it('shows a rejected form again with what was typed, and stores nothing of it', async () => {
    const before = (await callRest(world.url, 'GET', '/preferences', { token: rita })).json;
    const rejected = await save([
      ['told', 'access.active'],
      ['quiet_from', '21:30'],
      ['time_zone', 'Nowhere/<b>'],
    ]);
    expect(rejected.status).toBe(400);
    expect(rejected.body).toContain('value="21:30"');
    expect(rejected.body).toContain('value="Nowhere/&lt;b>"');
    expect(rejected.body).toMatch(/<input[^>]*value="access.active"[^>]*checked/);
    expect((await callRest(world.url, 'GET', '/preferences', { token: rita })).json).toEqual(before);
  });
});

describe('the search', () => {
  it('finds people for those who oversee, and for no one else', async () => {
    const auditor = await world.token('approver');
    expect((await open('/search?q=rita@example', auditor)).body).toContain('href="/admin/people/rita%40example.test"');
    expect((await open('/search?q=rita@example')).body).not.toContain('/admin/people');
  });
});

const wayToShown =
  'You cannot request shown yet. To request it, you must become a member of the group others. Contact an operator of this server.';

describe('a role that is discoverable', () => {
  it('says who may request it to those who may not, and is in no list', async () => {
    const page = await open('/roles/shown');
    expect([page.status, page.body]).toEqual([403, expect.stringContaining(wayToShown)]);
    // The page shows the role and how to get it, and is not an error page.
    expect(page.body).toContain('<h1>shown</h1>');
    expect(page.body).not.toMatch(/Not allowed|Request ID/);
    expect((await open('/roles')).body).not.toContain('/roles/shown');
    expect((await open('/roles?q=shown')).body).not.toContain('/roles/shown');
    const { status, json } = await callRest(world.url, 'GET', '/role/shown', { token: rita });
    expect([status, json]).toEqual([403, { message: wayToShown, code: 'FORBIDDEN' }]);
    // A request for the role gets the same message. A role without the setting is still not found.
    const request = { token: rita, body: { role: 'shown', reason: 'a link from a colleague' } };
    const asked = await callRest(world.url, 'POST', '/elevate', request);
    expect([asked.status, asked.json]).toEqual([403, { message: wayToShown, code: 'FORBIDDEN' }]);
    const hidden = { ...request, body: { ...request.body, role: 'secret' } };
    expect((await callRest(world.url, 'POST', '/elevate', hidden)).status).toBe(404);
  });

  it('is unknown like any other to a caller who is not signed in, and so is a role without the setting', async () => {
    expect((await open('/roles/secret')).status).toBe(404);
    expect((await callRest(world.url, 'GET', '/role/shown', {})).status).toBe(401);
  });
});
