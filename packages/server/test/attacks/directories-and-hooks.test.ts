import { createHmac } from 'node:crypto';
import { createProvisioningToken, upsertUser, withActor } from '@belay/core';
import { signHook } from '@belay/providers/testkit';
import { newId } from '@belay/testkit/house';
import { type Answer, send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';

/** Attacks on the two paths that programs of other systems call without a login: /hooks and /scim/v2. */

const secrets = { chat: 'what the chat signs with', other: 'what the other chat signs with' };
const slackSecret = 'a'.repeat(32);

/** A workflow that needs two approvals, which a message requests. */
const workflow = {
  document: { dsl: '1.0.3', namespace: 'test', name: 'approve-and-grant', version: '1.0.0' },
  do: [
    {
      approve: {
        call: 'access.approve',
        with: {
          stages: [{ approvers: { groups: ['approvers'] }, count: 2, timeout: 'PT1H' }],
          notify: { provider: 'chat', to: '#approvals' },
        },
      },
    },
    { grant: { call: 'access.grant' } },
  ],
};

let world: World;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  world = await createWorld({
    change: (document) => {
      const demo = { ...document.providers.demo, scim: {}, trusted_email_domains: ['example.test'] };
      const other = { ...demo, trusted_email_domains: ['example.org'] };
      const chatOf = (hook_secret: string) => ({
        provider: 'memory',
        config: { hook_secret },
        trusted_email_domains: ['example.test'],
      });
      const slack = {
        provider: 'slack',
        config: { url: 'http://127.0.0.1:1/api', token: 'xoxb-1-2-abc', signing_secret: slackSecret, decisions: 'on' },
        trusted_email_domains: ['example.test'],
      };
      const chats = {
        chat: chatOf(secrets.chat),
        twin: chatOf(secrets.chat),
        'other-chat': chatOf(secrets.other),
        slack,
      };
      const providers = { ...document.providers, demo, other, ...chats };
      return { ...document, providers, workflows: { 'approve-and-grant': { workflow } } };
    },
  });
  const operator = withActor(world.context, { kind: 'operator', name: 'test' });
  for (const provider of ['demo', 'other'])
    tokens[provider] = (await createProvisioningToken(operator, { provider, ttl: 'P1D' })).token;
});
afterAll(() => world[Symbol.asyncDispose]());

/** Returns everything that a request to these paths could change. */
const stored = async () =>
  world.database.sql`
    select (select json_agg(u order by u.id) from provisioned_users u) as people,
      (select json_agg(a order by a.id) from approvals a) as approvals, (select count(*)::int from decisions) as decisions,
      (select count(*)::int from ledger where type <> 'provisioning.rejected') as entries`;
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

/** Sends a body of this size, and returns the status; the connection may be closed before all of it was sent. */
const sendLarge = async (path: string, headers: Record<string, string>, bytes: number) =>
  send(`${world.url}${path}`, { method: 'POST', headers, body: Buffer.alloc(bytes, 0x20) }).then(
    ({ status }) => status,
    ({ code }: { code: string }) => code,
  );
/** The headers of a large body: with its length, and in chunks. */
const framings: Record<string, string>[] = [{ 'content-length': '10000000' }, { 'transfer-encoding': 'chunked' }];
const tooLarge = [413, 'ECONNRESET', 'EPIPE'];

describe('an attacker at /hooks', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const click = new URLSearchParams({ payload: JSON.stringify({ type: 'block_actions', actions: [] }) }).toString();
  const signSlack = (body: string, { at = Date.now(), secret = slackSecret } = {}) => {
    const time = String(Math.floor(at / 1_000));
    const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
    return { 'x-slack-request-timestamp': time, 'x-slack-signature': signature };
  };
  const post = (provider: string, body: string | Buffer, headers: Record<string, string>, method = 'POST') =>
    send(`${world.url}/api/v1/hooks/${provider}`, { method, headers, body });

  it('is not heard with a signature that is cut, lengthened, of another version or written otherwise', async () => {
    const signed = signSlack(click);
    const right = signed['x-slack-signature'];
    expect((await post('slack', click, { ...form, ...signed })).status).toBe(200);
    const flip = (at: number) => `${right.slice(0, at)}${right[at] === '0' ? '1' : '0'}${right.slice(at + 1)}`;
    const wrong = [
      '',
      'v0=',
      right.slice(0, -1),
      right.slice(0, 12),
      `${right}0`,
      `${right}, ${right}`,
      right.toUpperCase(),
      right.replace('v0=', 'v1='),
      right.replace('v0=', ''),
      'v0=é'.padEnd(right.length, 'é'),
      ...[3, 20, right.length - 1].map(flip),
    ];
    for (const signature of wrong) {
      const headers = { ...form, ...signed, 'x-slack-signature': Buffer.from(signature).toString('latin1') };
      const { status, body } = await post('slack', click, headers);
      expect([signature, status]).toEqual([signature, 401]);
      expect(body).not.toContain(right.slice(3));
    }
  });

  it('is not heard with a time that is old, from the future, or not in digits, though it is signed', async () => {
    for (const time of ['', '0', '-1', 'NaN', '1e9', '0x10', '9'.repeat(13), `${Math.floor(Date.now() / 1_000)}.5`]) {
      const signature = `v0=${createHmac('sha256', slackSecret).update(`v0:${time}:${click}`).digest('hex')}`;
      const headers = { ...form, 'x-slack-request-timestamp': time, 'x-slack-signature': signature };
      expect([time, (await post('slack', click, headers)).status]).toEqual([time, 401]);
    }
    const minute = 60_000;
    for (const off of [-6 * minute, 6 * minute])
      expect((await post('slack', click, { ...form, ...signSlack(click, { at: Date.now() + off }) })).status).toBe(401);
  });

  it('cannot carry what one provider signed to another, nor use a token of a directory', async () => {
    const body = JSON.stringify({ token: 'x', subject: 'U-1' });
    const json = { 'content-type': 'application/json' };
    const signed = { ...json, ...signHook(secrets.chat, new Date(), body) };
    expect((await post('chat', body, signed)).status).toBe(200);
    const answers = [
      await post('other-chat', body, signed),
      await post('slack', body, { ...signed, ...signSlack(body, { secret: secrets.chat }) }),
      await post('chat', body, { ...json, authorization: `Bearer ${tokens.demo}` }),
    ];
    expect(statuses(answers)).toEqual([401, 401, 401]);
  });

  it('reads no body of 10 MB, of another type, compressed, or not in UTF-8', async () => {
    for (const framing of framings)
      expect(tooLarge).toContain(await sendLarge('/api/v1/hooks/slack', { ...form, ...framing }, 10_000_000));
    const types = [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/xml',
      '',
      'application/json; charset=utf-16',
    ];
    for (const type of types) {
      const headers = { ...signSlack(click), 'content-type': type };
      expect([type, (await post('slack', click, headers)).status]).toEqual([type, 415]);
    }
    const zipped = { ...form, ...signSlack(click), 'content-encoding': 'gzip' };
    expect((await post('slack', click, zipped)).status).toBe(415);
    const latin = Buffer.from([0x70, 0x3d, 0xff, 0xfe]);
    expect((await post('slack', latin, { ...form, ...signSlack('p=') })).status).toBe(400);
  });

  it('finds no other address, method or transport that hears without a signature', async () => {
    const before = await stored();
    const signed = { ...form, ...signSlack(click) };
    for (const path of [
      'slack%00',
      'SLACK',
      '..%2fslack',
      '__proto__',
      'constructor',
      'x'.repeat(5_000),
      '%ff',
      '%zz',
    ]) {
      const { status } = await post(path, click, signed);
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])
      expect([method, (await post('slack', '', {}, method)).status]).toEqual([method, 405]);
    const json = { 'content-type': 'application/json' };
    const body = JSON.stringify({ provider: 'slack', body: click });
    for (const path of ['/trpc/hooks.receive', '/trpc/hooks.receive?batch=1', '/hooks/slack']) {
      const { status } = await send(`${world.url}${path}`, { method: 'POST', headers: json, body });
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    expect(await stored()).toEqual(before);
  });

  it('gains nothing by sending a click again: at once, later, with the other verdict, or as another provider', async () => {
    await world.token('approver');
    const asked = await callRest(world.url, 'POST', '/elevate', {
      token: await world.token('requester'),
      body: { role: 'reader', reason: 'a ticket' },
    });
    expect(asked.status, asked.body).toBe(200);
    await world.drive();
    const buttons = world.store.messages.flatMap(({ actions }) => actions.filter(({ kind }) => kind === 'decision'));
    const tokenOf = (verdict: string) => buttons.find((one) => one.kind === 'decision' && one.verdict === verdict);
    const clickOf = (verdict: string) => {
      const button = tokenOf(verdict);
      if (button?.kind !== 'decision') throw new Error(`no button ${verdict}`);
      return JSON.stringify({ token: button.token, subject: 'U-adam', email: 'adam@example.test' });
    };
    const [approve, deny] = [clickOf('approve'), clickOf('deny')];
    const json = { 'content-type': 'application/json' };
    const signed = { ...json, ...signHook(secrets.chat, new Date(), approve) };
    const decided = async () => world.database.sql`select verdict, via from decisions`;
    const state = async () => [await decided(), await world.database.sql`select status from approvals`];
    // The same click ten times: no request fails, and it counts as one of the two approvals that are needed.
    expect(statuses(await Promise.all(Array.from({ length: 5 }, () => post('chat', approve, signed))))).toEqual(
      Array.from({ length: 5 }, () => 200),
    );
    expect(statuses(await Promise.all(Array.from({ length: 5 }, () => post('chat', approve, signed))))).not.toContain(
      500,
    );
    const once = [[{ verdict: 'approve', via: 'message' }], [{ status: 'open' }]];
    expect(await state()).toEqual(once);
    // The signature is valid for these bytes only, and not for the other button.
    expect((await post('chat', deny, signed)).status).toBe(401);
    // The provider `twin` did not send the message with the button, so a click there does not count. At `chat` it does.
    const anna = { subject: 'u-anna', email: 'anna@example.test', name: 'Anna', groups: ['approvers'] };
    await upsertUser(world.database.db, { id: newId(), provider: 'demo', ...anna });
    const [message] = world.store.messages;
    const body = JSON.stringify({
      ...JSON.parse(approve),
      message: message?.idempotencyKey,
      subject: 'U-anna',
      email: anna.email,
    });
    const second = { ...json, ...signHook(secrets.chat, new Date(), body) };
    expect((await post('twin', body, second)).status).toBe(200);
    expect(await state()).toEqual(once);
    expect((await post('chat', body, second)).status).toBe(200);
    expect((await state())[1]).toEqual([{ status: 'approved' }]);
  });
});

describe('an attacker at /scim/v2', () => {
  const type = { 'content-type': 'application/scim+json' };
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    return send(`${world.url}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens.demo}`, ...type, ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
  };
  let id: string;
  beforeEach(async () => {
    if (id !== undefined) return;
    const made = await call('POST', '/Users', { userName: 'ana@example.test', externalId: 'u-ana', active: true });
    expect(made.status, made.body).toBe(201);
    id = String(JSON.parse(made.body).id);
  });

  it('is not heard with another credential, nor elsewhere with the token of a directory', async () => {
    const login = await world.token('approver');
    const token = tokens.demo ?? '';
    const credentials = [
      `Bearer ${login}`,
      `Bearer ${token} ${token}`,
      `Bearer ${token},`,
      `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
      token,
      `Bearer ${token.replace('belay-scim.', '')}`,
      `Bearer ${token.replace('belay-scim.', 'BELAY-SCIM.')}`,
      `Bearer ${"' or true --"}`,
    ];
    for (const authorization of credentials) {
      const { status, body } = await call('GET', '/Users', undefined, { authorization });
      expect([authorization, status]).toEqual([authorization, 401]);
      expect(body).not.toContain(token);
    }
    expect((await call('GET', '/Users', undefined, { authorization: '', cookie: `belay=${token}` })).status).toBe(401);
    const elsewhere = [
      await callRest(world.url, 'GET', '/auth/whoami', { token }),
      await callRest(world.url, 'POST', '/elevate', { token, body: { role: 'reader', reason: 'x' } }),
      await send(`${world.url}/trpc/auth.whoami`, { headers: { authorization: `Bearer ${token}` } }),
    ];
    expect(elsewhere.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it('changes nothing of another directory, by address, by filter or by membership', async () => {
    const foreign = { authorization: `Bearer ${tokens.other}` };
    const before = await stored();
    for (const [method, path, body] of [
      ['GET', `/Users/${id}`, undefined],
      ['DELETE', `/Users/${id}`, undefined],
      ['PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path: 'active', value: false }] }],
      ['PUT', `/Users/${id}`, { userName: 'x', active: false }],
    ] as const) {
      expect([method, (await call(method, path, body, foreign)).status]).toEqual([method, 404]);
    }
    const found = await call(
      'GET',
      `/Users?filter=${encodeURIComponent('userName eq "ana@example.test"')}`,
      undefined,
      foreign,
    );
    expect(JSON.parse(found.body)).toMatchObject({ totalResults: 0 });
    expect(await stored()).toEqual(before);
    const group = await call('POST', '/Groups', { displayName: 'thieves', members: [{ value: id }] }, foreign);
    expect([400, 404]).toContain(group.status);
  });

  it('reads no body of 10 MB, of another type, compressed or nested deeply, and never fails', async () => {
    const authorization = `Bearer ${tokens.demo}`;
    for (const framing of framings)
      expect(tooLarge).toContain(await sendLarge('/scim/v2/Users', { ...type, ...framing, authorization }, 10_000_000));
    // Without a token the body is not read.
    expect([401, 'ECONNRESET', 'EPIPE']).toContain(
      await sendLarge('/scim/v2/Users', { ...type, 'content-length': '10000000' }, 10_000_000),
    );
    const before = await stored();
    const user = '{"userName":"eve@example.test","active":true}';
    for (const given of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/json; charset=latin1',
    ])
      expect([given, (await call('POST', '/Users', user, { 'content-type': given })).status]).toEqual([given, 415]);
    expect((await call('POST', '/Users', user, { 'content-encoding': 'gzip' })).status).toBe(415);
    const deep = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`;
    for (const value of [deep('[', ']'), deep('{"value":', '}')]) {
      for (const field of ['active', 'emails', 'userName']) {
        const { status } = await call('PUT', `/Users/${id}`, `{"userName":"a","${field}":${value}}`);
        expect([field, status]).toEqual([field, 400]);
      }
      const { status } = await call(
        'PATCH',
        `/Users/${id}`,
        `{"Operations":[{"op":"replace","path":"active","value":${value}}]}`,
      );
      expect(status).toBe(400);
    }
    expect(await stored()).toEqual(before);
  });

  it('finds no text, filter or address that makes the server fail', async () => {
    const texts = ['\u0000', '\ud800', '\u202e', "' or true --", '%s', '__proto__'];
    for (const text of texts) {
      const paths = [
        `/Users/${encodeURIComponent(text.toWellFormed())}`,
        `/Users?filter=${encodeURIComponent(`userName eq ${JSON.stringify(text)}`)}`,
        `/Groups?filter=${encodeURIComponent(`displayName eq ${JSON.stringify(text)}`)}`,
      ];
      for (const path of paths) expect([path, (await call('GET', path)).status < 500]).toEqual([path, true]);
      for (const field of ['userName', 'externalId', 'displayName']) {
        const { status } = await call('PATCH', `/Users/${id}`, {
          Operations: [{ op: 'add', path: field, value: { text } }],
        });
        expect([field, text, status < 500]).toEqual([field, text, true]);
      }
    }
    for (const path of ['/Users/..%2f..%2fapi', '/%00', '//Users', '/Users/%ff', '/Users/%zz', '/Bulk', '/Me'])
      expect([path, (await call('GET', path)).status < 500]).toEqual([path, true]);
    for (const query of ['startIndex=-1', 'count=-5', 'count=1e9', 'startIndex=9999999999999999999', 'count=x'])
      expect([query, (await call('GET', `/Users?${query}`)).status < 500]).toEqual([query, true]);
  });

  it('can repeat a deactivation without harm, and cannot revive a person by sending an earlier creation again', async () => {
    const create = { userName: 'zoe@example.test', externalId: 'u-zoe', active: true };
    const made = await call('POST', '/Users', create);
    const zoe = String(JSON.parse(made.body).id);
    const off = { Operations: [{ op: 'replace', path: 'active', value: false }] };
    for (let times = 0; times < 2; times += 1) expect((await call('PATCH', `/Users/${zoe}`, off)).status).toBe(200);
    expect((await call('POST', '/Users', create)).status).toBe(409);
    expect(JSON.parse((await call('GET', `/Users/${zoe}`)).body)).toMatchObject({ active: false });
  });
});
