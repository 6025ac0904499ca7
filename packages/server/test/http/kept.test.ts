import type { LiveCatalog } from '@belay/core';
import { createWorld, type World } from '@belay/testkit/world';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

describe('the roles, whose text is kept', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld({ timing: { login: 4 * 60 * 60_000 } });
  });
  afterEach(() => world[Symbol.asyncDispose]());
  const roles = (token?: string, path = '/roles', headers: Record<string, string> = {}) =>
    callRest(world.url, 'GET', path, { ...(token === undefined ? {} : { token }), headers });

  it('are the same for those who see the same, and others for others', async () => {
    const [rita, again, bo] = [
      await world.token('requester'),
      await world.token('requester', 'device'),
      await world.token('bystander'),
    ];
    const first = await roles(rita);
    expect([first.status, Object.keys(first.json.roles as object)]).toEqual([200, expect.arrayContaining(['reader'])]);
    for (const token of [rita, again]) {
      const { status, body, headers } = await roles(token);
      expect([status, body]).toEqual([200, first.body]);
      expect(headers['content-type']).toBe(first.headers['content-type']);
      expect([headers['x-request-id'] === first.headers['x-request-id'], headers['cache-control']]).toEqual([
        false,
        'no-store',
      ]);
    }
    expect(Object.keys((await roles(bo)).json.roles as object)).not.toContain('reader');
  });

  it('are rejected for a login as soon as it has ended', async () => {
    const token = await world.token('requester');
    expect((await roles(token)).status).toBe(200);
    expect((await roles(token)).status).toBe(200);
    await world.database.sql`delete from logins`;
    expect((await roles(token)).status).toBe(401);
    expect((await roles()).status).toBe(401);
  });

  it('follow the groups of a person, and the configuration', async () => {
    const token = await world.token('requester');
    const before = await roles(token);
    await world.database.sql`update user_identities set groups = '[]'`;
    expect(Object.keys((await roles(token)).json.roles as object)).not.toContain('reader');
    await world.database.sql`update user_identities set groups = '["engineers"]'`;
    expect((await roles(token)).body).toBe(before.body);
    await world.database.sql`insert into catalogs (version, document, digest, source)
      select version + 1, jsonb_set(document, '{roles,reader,description}', '"Another"'), 'another', 'test'
      from catalogs order by version desc limit 1`;
    await (world.context.catalog as LiveCatalog).refresh();
    const after = await roles(token);
    expect(after.json.version).not.toBe(before.json.version);
    expect(after.json.roles).toMatchObject({ reader: { role: { description: 'Another' } } });
  });

  it('are told by address: pages, filters and mistakes of their own', async () => {
    const token = await world.token('requester');
    for (let time = 0; time < 2; time += 1) {
      const page = await roles(token, '/roles?limit=1');
      expect([Object.keys(page.json.roles as object).length, page.json.next === null]).toEqual([
        1,
        page.headers.link === undefined,
      ]);
      expect((await roles(token, '/roles?provider=nowhere')).json.roles).toEqual({});
      expect((await roles(token, '/roles?limit=0')).status).toBe(400);
    }
    const html = await roles(token, '/roles', { accept: 'text/html' });
    expect(html.headers['content-type']).toBe('text/html; charset=utf-8');
  });

  it("move on the end of a browser's login", async () => {
    await world.database.setTime(new Date());
    const headers = { cookie: `belay=${await world.token('requester')}` };
    const first = await roles(undefined, '/roles', headers);
    expect([first.status, first.headers['set-cookie']]).toEqual([200, undefined]);
    await world.database.advance(3 * 60 * 60_000);
    const later = await roles(undefined, '/roles', headers);
    expect([later.status, later.body]).toEqual([200, first.body]);
    expect(String(later.headers['set-cookie'])).toMatch(/^belay=/);
  });
});

describe('a search for roles', () => {
  it('is not kept, because what is found depends on the systems that a person may use', async () => {
    await using world = await createWorld({
      change: (same) => ({
        ...same,
        providers: { ...same.providers, hidden: { provider: 'memory', permissions: { groups: ['approvers'] } } },
        roles: {
          ...same.roles,
          audit: {
            description: 'Inspect the audit trail of payments',
            providers: ['hidden'],
            inherits: ['hidden:read'],
            workflows: ['approve-and-grant'],
          },
        },
      }),
    });
    const find = async (token: string) => {
      const { json } = await callRest(world.url, 'GET', '/roles?q=I+must+inspect+payments+audit+trail+now', { token });
      return Object.keys(json.roles as object);
    };
    const [bo, adam] = [await world.token('bystander'), await world.token('approver')];
    expect([await find(bo), await find(adam)]).toEqual([[], ['audit']]);
  });
});
