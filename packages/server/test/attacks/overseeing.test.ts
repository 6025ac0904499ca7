import { get } from 'node:http';
import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks by current and former administrators and auditors, with their cookies, and with extreme values. */

let world: World;
let administrator: string;
let auditor: string;
let plain: string;
let id: string;
beforeAll(async () => {
  world = await createWorld({ timing: { streamCheck: 200 } });
  await oversee(true);
  administrator = await world.token('approver');
  auditor = await world.token('bystander');
  plain = await world.token('requester');
  const asked = await call('POST', '/elevate', { token: plain, body: { role: 'reader', reason: 'A quiet matter' } });
  id = (asked.json.output as { execution_id: string }).execution_id;
  await world.drive();
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

/** Adds or removes the administrators and auditors, as a new configuration does. */
async function oversee(on: boolean): Promise<void> {
  const catalog = world.context.catalog as LiveCatalog;
  const { access: _none, ...document } = catalog.current().document;
  const overseers = { administrators: { groups: ['approvers'] }, auditors: { users: ['bo@example.test'] } };
  await applyCatalog(
    world.context.db,
    { document: { ...document, ...(on ? { access: overseers } : {}) }, source: 'test' },
    { connectors: createRegistry([oidcConnector, createMemoryConnector(world.store)]), resolve: () => undefined },
  );
  await catalog.refresh();
}

describe('an administrator or auditor whom the configuration no longer names', () => {
  it('is shown no further event of a request that they watch', async () => {
    const query = encodeURIComponent(JSON.stringify({ id }));
    const ended = new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${auditor}`, accept: 'text/event-stream' };
      const outgoing = get(
        `${world.url}/trpc/executions.watch?input=${query}`,
        { headers, agent: false },
        (incoming) => {
          let text = '';
          incoming.on('error', () => {});
          let on = true;
          incoming.on('data', (chunk: Buffer) => {
            text += chunk.toString();
            // The first data shows only that the stream is open.
            if (!on || !text.includes('A quiet matter')) return;
            on = false;
            void oversee(false);
          });
          incoming.once('close', () => resolve(text));
        },
      );
      outgoing.on('error', reject);
    });
    expect(await ended).toContain('A quiet matter');
    expect((await call('GET', `/execution/${id}`, { token: auditor })).status).toBe(404);
    expect((await call('GET', '/admin/access', { token: auditor })).status).toBe(403);
    expect((await call('GET', '/executions?person=anyone', { token: auditor })).status).toBe(403);
    expect((await call('GET', '/executions?person=rita@example.test', { token: auditor })).json).toMatchObject({
      executions: [],
    });
    expect(
      (await call('POST', '/admin/access/revoke', { token: administrator, body: { execution_id: id, reason: 'x' } }))
        .status,
    ).toBe(403);
    await oversee(true);
  });
});

describe('a page of another site', () => {
  it('writes nothing with the cookie of an administrator, by any operation that there is', async () => {
    const document = (await call('GET', '/openapi.json')).json as { paths: Record<string, object> };
    // Posts to these two paths come from providers and contain their own proof.
    const fromProviders = ['/auth/callback/{provider}', '/auth/backchannel-logout/{provider}'];
    const writes = Object.entries(document.paths)
      .filter(([path]) => !fromProviders.includes(path))
      .flatMap(([path, operations]) =>
        Object.keys(operations).flatMap((method) =>
          ['post', 'put', 'delete'].includes(method) ? [{ path, method }] : [],
        ),
      );
    expect(writes.length).toBeGreaterThan(25);
    for (const { path, method } of writes) {
      const { status } = await send(`${world.url}/api/v1${path.replace(/\{[^}]+\}/g, id)}`, {
        method: method.toUpperCase(),
        headers: {
          cookie: `belay=${administrator}`,
          origin: 'https://evil.example',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: 'reason=x',
      });
      expect([method, path, status]).toEqual([method, path, 403]);
    }
  });
});

describe('values out of all proportion', () => {
  it.each([
    'PT0S',
    '-PT5M',
    'P-1D',
    'PT1e9H',
    'P9999999999Y',
    `PT${'9'.repeat(60)}H`,
    'NaN',
    'Infinity',
    '１５m',
    '0',
    'PT0.0000001S',
  ])('are no duration of a request, a lease or several requests: %s', async (duration) => {
    const terms = { role: 'reader', reason: 'x' };
    for (const [path, body] of [
      ['/elevate', { ...terms, duration }],
      ['/runs', { ...terms, duration }],
      ['/runs', { ...terms, lease: duration }],
    ] as const) {
      expect([path, (await call('POST', path, { token: plain, body })).status]).toEqual([path, 400]);
    }
    const several = await call('POST', '/elevations', {
      token: plain,
      body: { roles: ['reader'], reason: 'x', duration },
    });
    expect(several.json).toMatchObject({ requested: 0, rejected: 1 });
    expect([400, 409]).toContain(
      (await call('POST', `/execution/${id}/extend`, { token: plain, body: { duration } })).status,
    );
  });

  it.each(['0', '-1', '1e9', 'NaN', '1.5', '9'.repeat(20), '', '0x10', ' 5'])(
    'are no number of entries on a page: "%s"',
    async (limit) => {
      for (const list of [
        'executions',
        'approvals',
        'logs',
        'admin/access',
        'admin/logs',
        'admin/people',
        'admin/overdue',
        'admin/agents',
      ]) {
        const { status } = await call('GET', `/${list}?limit=${encodeURIComponent(limit)}`, { token: auditor });
        expect([list, status]).toEqual([list, 400]);
      }
    },
  );

  it.each(['\u0000', '\u202e%_', "\\'--", '😀'.repeat(200), 'a'.repeat(5_000), '__proto__'])(
    'are rejected or find nothing wherever a name is expected, and break nothing: %j',
    async (text) => {
      const name = encodeURIComponent(text);
      const reason = 'x';
      const calls: [token: string, method: string, path: string, body?: object][] = [
        ...[`person=${name}`, `role=${name}`, `q=${name}`].map((filter): [string, string, string] => [
          plain,
          'GET',
          `/executions?${filter}`,
        ]),
        ...[`access?user=${name}`, `people?q=${name}`, `people/${name}`, `logs?user=${name}`, `logs?role=${name}`].map(
          (list): [string, string, string] => [auditor, 'GET', `/admin/${list}`],
        ),
        [plain, 'POST', `/role/${name}/star`],
        [plain, 'POST', '/elevations', { roles: [text, `store:${text}`], reason }],
        [plain, 'PUT', '/preferences', { channels: [text], muted: [], quiet_hours: null }],
        [
          plain,
          'PUT',
          '/preferences',
          { channels: null, muted: [], quiet_hours: { from: '22:00', to: '07:00', time_zone: text } },
        ],
        [plain, 'POST', '/runs', { role: text, reason }],
        [plain, 'POST', `/runs/${name}/beat`],
        [plain, 'POST', `/execution/${name}/extend`, {}],
        [administrator, 'POST', '/admin/access/revoke', { user: text, reason }],
        [administrator, 'POST', '/admin/access/revoke', { execution_id: text, reason }],
        [administrator, 'POST', `/admin/people/${name}/stop`, { reason }],
        [administrator, 'POST', `/admin/overdue/${name}/retry`, { reason }],
      ];
      for (const [token, method, path, body] of calls) {
        const { status, json } = await call(method, path, { token, ...(body && { body }) });
        const found = status === 200 && method === 'POST' && json.requested !== 0;
        expect([method, path, status < 500, found]).toEqual([method, path, true, false]);
      }
      expect(world.lines.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );
});

describe('the numbers for monitoring', () => {
  it('name no person, no role, no request, and no address that a stranger made up', async () => {
    await send(`${world.url}/api/v1/made-up/${'x'.repeat(3_000)}`, {});
    for (const accept of ['text/plain', 'application/json', 'application/openmetrics-text']) {
      const { body } = await send(`${world.url}/metrics`, { headers: { accept } });
      expect(/rita|adam|quiet|reader|made-up/i.exec(body)?.[0]).toBeUndefined();
    }
  });
});
