import { send } from '@belay/testkit/serve';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const elevate = '/api/v1/elevate';
const urlencoded = 'application/x-www-form-urlencoded';
const fields = { providers: 'store', permissions: 'logs.read, logs.search', groups: 'read', reason: 'An incident' };

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const multipart = (given: Record<string, string>) => ({
  type: 'multipart/form-data; boundary=edge',
  body: `${Object.entries(given)
    .map(([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')}--edge--\r\n`,
});
const encoded = (given: Record<string, string>) => ({ type: urlencoded, body: new URLSearchParams(given).toString() });

async function post(person: Person, { type, body }: { type: string; body: string }) {
  const answer = await send(`${world.url}${elevate}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await world.token(person)}`, 'content-type': type },
    body,
  });
  return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> };
}

describe('POST /elevate as a form without a role (docs/interface.md, section 3, dynamic request)', () => {
  it.each([
    ['urlencoded', encoded],
    ['multipart', multipart],
  ])('is put to approvers and granted, %s', async (_name, write) => {
    const answer = await post('requester', write(fields));
    expect([answer.status, answer.json]).toMatchObject([200, { status: 'pending' }]);
    const id = (answer.json.output as { execution_id: string }).execution_id;
    await world.drive();
    const token = await world.token('approver');
    const own = await world.token('requester');
    const shown = (await callRest(world.url, 'GET', `/execution/${id}`, { token: own })).json;
    expect(shown.input).toMatchObject({
      dynamic: { permissions: ['logs.read', 'logs.search'], resources: [], groups: ['store:read'] },
    });
    expect(world.store.held()).toEqual([]);
    const decide = `/approvals/${id}/decision`;
    const refused = await callRest(world.url, 'POST', decide, { token: own, body: { verdict: 'approve' } });
    expect(refused.status).toBe(403);
    const decided = await callRest(world.url, 'POST', decide, { token, body: { verdict: 'approve' } });
    expect(decided.status).toBe(200);
    await world.drive();
    const held = world.store.held().map(({ access }) => access);
    expect(held).toHaveLength(3);
    expect(held).toEqual(
      expect.arrayContaining([{ permission: 'logs.read' }, { permission: 'logs.search' }, { role: 'read' }]),
    );
    await callRest(world.url, 'POST', `/access/${id}/return`, { token: own, body: {} });
    await world.drive();
    expect(world.store.held()).toEqual([]);
  });

  it.each([
    ['a denied permission', { permissions: 'logs.read,logs.DELETE' }, 'permissions[1]'],
    ['a permission that is not listed', { permissions: 'root' }, 'permissions[0]'],
    ['a pattern', { permissions: 'logs.*' }, 'permissions[0]'],
    ['a resource', { resources: 'disk' }, 'resources[0]'],
    ['a group of another provider', { groups: 'demo:admin' }, 'groups[0]'],
    ['no provider', { providers: '' }, 'providers'],
    ['a provider that is not there', { providers: 'hidden' }, 'providers[0]'],
    ['another workflow', { workflow: 'none' }, 'workflow'],
    ['too long a time', { duration: 'P1D' }, 'duration'],
    ['a role beside it', { role: 'reader' }, 'permissions'],
    ['nothing', { permissions: '', groups: '' }, 'role'],
  ])('is 400 for %s, naming the field', async (_what, change, path) => {
    const answer = await post('requester', encoded({ ...fields, ...change }));
    expect([answer.status, (answer.json.issues as { path: string }[])[0]?.path]).toEqual([400, path]);
  });

  it('is 403 for callers who are not named, without a configuration, and for other identities', async () => {
    expect((await post('bystander', encoded(fields))).status).toBe(403);
    expect((await post('requester', encoded({ ...fields, providers: 'demo' }))).status).toBe(403);
    expect((await post('requester', encoded({ ...fields, users: 'bo@example.test' }))).status).toBe(403);
    expect((await post('requester', encoded({ ...fields, identities: 'bo@example.test' }))).status).toBe(403);
  });

  it('shows each caller only the bounds that apply to them', async () => {
    const bounds = async (person: Person) =>
      (await callRest(world.url, 'GET', '/elevate/dynamic', { token: await world.token(person) })).json.bounds;
    expect(await bounds('requester')).toMatchObject([{ provider: 'store', permissions: { allow: ['logs.*'] } }]);
    expect(await bounds('bystander')).toEqual([]);
  });
});

describe('the forms that ask, in a browser without a script', () => {
  const open = async (token: string, path: string) =>
    send(`${world.url}${path}`, {
      headers: { cookie: `belay=${token}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' },
    });
  const submit = (token: string, given: Record<string, string>) =>
    send(`${world.url}${elevate}`, {
      method: 'POST',
      headers: {
        cookie: `belay=${token}`,
        accept: 'text/html',
        'sec-fetch-site': 'same-origin',
        'content-type': urlencoded,
      },
      body: new URLSearchParams(given).toString(),
    });
  /** Returns the hidden fields of the form, which are sent with the fields that a person fills in. */
  const hidden = (page: string) => {
    const form = page.slice(page.indexOf(`action="${elevate}"`));
    return Object.fromEntries(
      [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    ) as Record<string, string>;
  };

  it('/elevate leads to the form for those who may, and asks with it', async () => {
    const rita = await world.token('requester');
    const led = await open(rita, elevate);
    expect([led.status, led.headers.location]).toEqual([302, `${elevate}/dynamic`]);
    const page = await open(rita, `${elevate}/dynamic`);
    expect(page.body).toMatch(/<code>logs\.\*<\/code>.*but never.*<code>logs\.delete<\/code>/s);
    expect((await open(rita, '/api/v1/roles')).body).toContain('/elevate/dynamic');
    const asked = await submit(rita, { ...hidden(page.body), permissions: 'logs.read', reason: 'An incident' });
    expect([asked.status, asked.headers.location]).toEqual([303, expect.stringContaining('/requests/')]);
    const followed = await open(rita, String(asked.headers.location));
    expect(followed.status).toBe(200);
    expect(followed.body).not.toContain('/role/dynamic');
    const bo = await world.token('bystander');
    expect((await open(bo, `${elevate}/dynamic`)).body).not.toContain('<textarea');
    expect((await open(bo, '/api/v1/roles')).body).not.toContain('/elevate/dynamic');
  });

  it('come back with what was typed and the field named when they are rejected, and ask then', async () => {
    const rita = await world.token('requester');
    const dynamic = await open(rita, `${elevate}/dynamic`);
    const typed = { permissions: 'logs.read, logs.delete', reason: 'An "incident" <b>', duration: '20m' };
    const again = await submit(rita, { ...hidden(dynamic.body), ...typed });
    expect(again.status).toBe(400);
    expect(again.body).toContain('value="logs.read, logs.delete"');
    expect(again.body).toMatch(/An (&quot;|")incident(&quot;|") &lt;b>/);
    expect(again.body).toMatch(/aria-invalid="true"[^>]*value="logs/);
    expect(again.body).toContain('“logs.delete” is not something that you may request');
    const good = { ...hidden(again.body), ...typed, permissions: 'logs.read' };
    expect((await submit(rita, good)).status).toBe(303);

    const role = await open(rita, '/api/v1/role/reader');
    const refused = await submit(rita, { ...hidden(role.body), reason: '  ', duration: 'soon' });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatch(/role="alert".*href="#reason"/s);
    const long = await submit(rita, { ...hidden(role.body), reason: 'My long story', duration: 'P3D' });
    expect([long.status, long.body]).toEqual([400, expect.stringContaining('My long story</textarea>')]);
    expect(long.body).toContain('href="#duration"');
    const noRole = await submit(rita, { ...hidden(role.body), role: 'secret', reason: 'Mine' });
    expect([noRole.status, noRole.body]).toEqual([404, expect.not.stringContaining('name="reason"')]);
  });

  it('make one request when they are sent twice, and another when they are opened again', async () => {
    const rita = await world.token('requester');
    for (const path of ['/api/v1/role/reader', `${elevate}/dynamic`]) {
      const given = async () => ({
        ...hidden((await open(rita, path)).body),
        reason: 'A double click',
        ...(path.endsWith('dynamic') ? { permissions: 'logs.read' } : {}),
      });
      const form = await given();
      const [one, two] = await Promise.all([submit(rita, form), submit(rita, form)]);
      expect([one?.status, one?.headers.location]).toEqual([303, two?.headers.location]);
      expect((await submit(rita, form)).headers.location).toBe(one?.headers.location);
      expect((await submit(rita, await given())).headers.location).not.toBe(one?.headers.location);
      // The same form with another reason is a different request: it is shown again with a fresh key, so that it is not lost.
      const other = await submit(rita, { ...form, reason: 'Something else' });
      expect([other.status, other.body]).toEqual([409, expect.stringContaining('Something else</textarea>')]);
      expect((await submit(rita, { ...hidden(other.body), ...form, ...hidden(other.body), reason: 'x' })).status).toBe(
        303,
      );
    }
  });

  it('confirm a link once, however often the page’s button is pressed', async () => {
    const rita = await world.token('requester');
    const link = `${elevate}?role=reader&provider=store&reason=From%20a%20link`;
    const page = await open(rita, link);
    const form = Object.fromEntries(
      [...page.body.matchAll(/name="(csrf_token|idempotency_key)" value="([^"]*)"/g)]
        .slice(-2)
        .map(([, name, value]) => [name, value]),
    ) as Record<string, string>;
    const confirm = () =>
      send(`${world.url}${link}`, {
        method: 'POST',
        headers: {
          cookie: `belay=${rita}`,
          accept: 'text/html',
          'sec-fetch-site': 'same-origin',
          'content-type': urlencoded,
        },
        body: new URLSearchParams(form).toString(),
      });
    const first = await confirm();
    expect(first.status).toBe(303);
    expect((await confirm()).headers.location).toBe(first.headers.location);
  });
});
