import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

describe('starred roles', () => {
  let world: World;
  let rita: string;
  beforeAll(async () => {
    world = await createWorld({
      change: (document) => {
        const { reader } = document.roles;
        return { ...document, roles: { ...document.roles, another: { ...reader, description: 'Read it too' } } };
      },
    });
    rita = await world.token('requester');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const call = (method: string, path: string, token = rita) => callRest(world.url, method, path, { token });
  const starred = async (token = rita) =>
    ((await call('GET', '/roles/starred', token)).json as { roles: string[] }).roles;

  it('are stored for each person, and starring twice changes nothing', async () => {
    expect(await starred()).toEqual([]);
    for (let times = 0; times < 2; times++) {
      const { status, json } = await call('POST', '/role/reader/star');
      expect([status, json]).toEqual([200, { role: 'reader', starred: true }]);
    }
    expect(await starred()).toEqual(['reader']);
    expect(await starred(await world.token('approver'))).toEqual([]);
    expect((await call('POST', '/role/reader/unstar')).json).toEqual({ role: 'reader', starred: false });
    expect((await call('POST', '/role/reader/unstar')).status).toBe(200);
    expect(await starred()).toEqual([]);
  });

  it('are only those that the person may see', async () => {
    expect((await call('POST', '/role/secret/star')).status).toBe(404);
    expect((await call('POST', '/role/reader/star', await world.token('bystander'))).status).toBe(404);
    await world.database
      .sql`insert into starred_roles (user_id, role) select id, 'secret' from users where name = 'Rita'`;
    expect(await starred()).toEqual([]);
    expect((await callRest(world.url, 'GET', '/roles/starred', {})).status).toBe(401);
  });

  it('come first on the page of roles, and are starred by a form that needs no script', async () => {
    const headers = { cookie: `belay=${rita}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const open = async (path: string) => (await send(`${world.url}${path}`, { headers })).body;
    const action = '/api/v1/role/reader/star';
    const page = await open('/roles/reader');
    const token = new RegExp(`action="${action}"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"`).exec(
      page,
    )?.[1];
    const posted = await send(`${world.url}${action}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf_token: token ?? '' }).toString(),
    });
    expect([posted.status, posted.headers.location]).toEqual([303, '/roles/reader']);
    expect(await open('/roles/reader')).toContain('Remove star');
    const roles = await open('/roles');
    expect(roles.indexOf('id="starred"')).toBeGreaterThan(0);
    expect(roles.indexOf('href="/roles/reader"')).toBeLessThan(roles.indexOf('href="/roles/another"'));
  });

  it('lead back to the list that the star was set in, and to no other place', async () => {
    const headers = { cookie: `belay=${rita}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    const star = async (referer: string) => {
      const { body } = await send(`${world.url}/roles`, { headers });
      const [, action = '', token = ''] =
        /formaction="([^"]*\/another\/(?:un)?star)" name="csrf_token" value="([^"]+)"/.exec(body) ?? [];
      const { status, headers: answered } = await send(`${world.url}${action}`, {
        method: 'POST',
        headers: { ...headers, referer, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ csrf_token: token }).toString(),
      });
      return [status, answered.location];
    };
    expect(await star(`${world.url}/roles?q=read`)).toEqual([303, '/roles?q=read']);
    expect(await starred()).toContain('another');
    expect(await star(`${world.url}/roles`)).toEqual([303, '/roles']);
    expect(await starred()).not.toContain('another');
    for (const elsewhere of [`${world.url}//evil.test/roles`, 'https://evil.test/roles', 'none'])
      expect(await star(elsewhere)).toEqual([303, '/roles/another']);
  });
});
