import { createSecretKey, generateKeyPairSync } from 'node:crypto';
import { openBrowser } from '@belay/testkit/browser';
import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';
import { openCompany } from '../http/support/company.js';

/**
 * Attacks on back-channel logout: a logout at the identity provider ends the logins here at once, and only that provider can send it.
 */

let world: World;
let company: Awaited<ReturnType<typeof openCompany>>;
beforeAll(async () => {
  world = await createWorld();
  company = await openCompany(world);
});
afterAll(async () => {
  await company.close();
  await world[Symbol.asyncDispose]();
});

const post = (fields: Record<string, string>, provider = 'company') => {
  const body = new URLSearchParams(fields).toString();
  return send(`${world.url}/api/v1/auth/backchannel-logout/${provider}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json',
    },
    body,
  });
};
type Visitor = ReturnType<typeof openVisitor>;
const isSignedIn = async (visitor: Visitor) => (await visitor.visit('/auth/whoami')).status === 200;
const sidOf = async (subject: string) =>
  String(
    (await world.database.sql`select sid from logins where subject = ${subject} order by created_at desc`)[0]?.sid,
  );

async function signedIn(subject: string, at = openBrowser()) {
  const visitor = openVisitor(world.url);
  expect((await company.signIn(visitor, subject, at)).status).toBe(200);
  return visitor;
}

describe('a logout at the provider', () => {
  it('ends the logins of that sign-in at once, and no others', async () => {
    const first = await signedIn('rita');
    const sid = await sidOf('rita');
    const second = await signedIn('rita');
    const other = await signedIn('adam');
    expect(await sidOf('rita')).not.toBe(sid);
    await company.logOut('rita', sid);
    expect(await Promise.all([first, second, other].map(isSignedIn))).toEqual([false, true, true]);
    const logged = await world.database.sql`select message from ledger where type = 'login.ended' order by seq desc`;
    expect(logged[0]?.message).toContain('"company" signed the person out');
  });

  it('ends every login of the person, browser and device, when it names no sign-in', async () => {
    const browsers = [await signedIn('noa'), await signedIn('noa')];
    const started = await callRest(world.url, 'POST', '/auth/device/authorization', { body: { label: 'a machine' } });
    const { device_code, user_code } = started.json as { device_code: string; user_code: string };
    await browsers[0]?.visit('/auth/device', { body: { user_code, verdict: 'approve' } });
    const polled = await callRest(world.url, 'POST', '/auth/device/token', { body: { device_code } });
    const token = String(polled.json.token);
    const bystander = await signedIn('adam');
    expect((await callRest(world.url, 'GET', '/auth/whoami', { token })).status).toBe(200);
    const told = await post({ logout_token: await company.token({ sub: 'noa' }) });
    expect([told.status, told.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(await Promise.all([...browsers, bystander].map(isSignedIn))).toEqual([false, false, true]);
    expect((await callRest(world.url, 'GET', '/auth/whoami', { token })).status).toBe(401);
  });

  it('ends what a sign-in was about to become: codes, and programs that wait', async () => {
    const visitor = openVisitor(world.url);
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const query = `?callback=http%3A%2F%2F127.0.0.1%3A5999%2F&code_challenge=${challenge}`;
    const asked = await company.signIn(visitor, 'kim', openBrowser(), query);
    const address = await visitor.letProgram(asked.location);
    await post({ logout_token: await company.token({ sub: 'kim' }) });
    const code = address.searchParams.get('code') ?? '';
    const code_verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    expect((await callRest(world.url, 'POST', '/auth/token', { body: { code, code_verifier } })).status).toBe(403);
  });

  it('leaves who is signed in elsewhere too signed in there, as that person', async () => {
    const visitor = openVisitor(world.url);
    await visitor.signIn('demo', 'u-rita');
    await company.signIn(visitor, 'rita-both');
    await post({ logout_token: await company.token({ sub: 'rita-both' }) });
    expect((await visitor.visit('/auth/whoami')).json).toMatchObject({ provider: 'demo', email: 'rita@example.test' });
  });

  it('leaves tokens alone that an operator made', async () => {
    await signedIn('ops');
    const { createToken } = await import('@belay/core');
    const operator = { ...world.context, actor: { kind: 'operator' as const, name: 'test' } };
    const { token } = await createToken(operator, { user: 'ops@company.example', ttl: 'PT1H' });
    await post({ logout_token: await company.token({ sub: 'ops' }) });
    expect((await callRest(world.url, 'GET', '/auth/whoami', { token })).status).toBe(200);
  });
});

describe('what is no logout token of the provider', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  const another = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

  it.each<[string, () => Promise<string> | string]>([
    ['nothing', () => ''],
    ['no token', () => 'x.y.z'],
    ['one that is signed with another key', () => company.token({ sub: 'vic' }, {}, another)],
    [
      'one that is not signed',
      async () => {
        const [, payload = ''] = (await company.token({ sub: 'vic' })).split('.');
        return `${Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url')}.${payload}.`;
      },
    ],
    [
      'one that is signed with the secret of the client',
      () => company.token({ sub: 'vic' }, { alg: 'HS256' }, createSecretKey(Buffer.from(company.client.client_secret))),
    ],
    ['one of another issuer', () => company.token({ sub: 'vic', iss: 'https://evil.example' })],
    ['one for another client', () => company.token({ sub: 'vic', aud: 'another' })],
    ['one that has expired', () => company.token({ sub: 'vic', iat: now() - 600, exp: now() - 300 })],
    [
      'one of yesterday that lasts for ever',
      () => company.token({ sub: 'vic', iat: now() - 86_400, exp: now() + 1e6 }),
    ],
    ['one of the future', () => company.token({ sub: 'vic', iat: now() + 3600, exp: now() + 7200 })],
    ['one without an end', () => company.token({ sub: 'vic', exp: undefined })],
    ['one without an identifier', () => company.token({ sub: 'vic', jti: undefined })],
    ['one without the event', () => company.token({ sub: 'vic', events: {} })],
    ['one with another event', () => company.token({ sub: 'vic', events: { 'urn:x': {} } })],
    ['one whose event is no object', () => company.token({ sub: 'vic', events: { [event]: true } })],
    ['one with a nonce, as an ID token has', () => company.token({ sub: 'vic', nonce: 'n' })],
    ['one without a subject', () => company.token({})],
    ['one with an empty subject', () => company.token({ sub: '' })],
    ['one of another type', () => company.token({ sub: 'vic' }, { typ: 'at+jwt' })],
  ])('%s is rejected and ends nothing', async (_what, make) => {
    const visitor = await signedIn('vic');
    const refused = await post({ logout_token: await make() });
    expect(refused.status).toBe(400);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('a token that was sent before is rejected', async () => {
    const logout_token = await company.token({ sub: 'vic' });
    expect((await post({ logout_token })).status).toBe(200);
    const visitor = await signedIn('vic');
    expect((await post({ logout_token })).status).toBe(400);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('the token of one provider ends nothing at another, and GET ends nothing at all', async () => {
    const visitor = await signedIn('vic');
    const logout_token = await company.token({ sub: 'vic' });
    expect((await post({ logout_token }, 'demo')).status).toBe(400);
    expect((await post({ logout_token }, 'nowhere')).status).toBe(404);
    const read = await visitor.visit(`/auth/backchannel-logout/company?logout_token=${logout_token}`);
    expect(read.status).toBe(405);
    expect(await isSignedIn(visitor)).toBe(true);
  });
});

describe('groups that the provider has removed', () => {
  it('count for nothing a quarter of an hour later', async () => {
    await using later = await createWorld();
    const own = await openCompany(later);
    try {
      own.groups.set('gail', ['approvers']);
      const at = openBrowser();
      const visitor = openVisitor(later.url);
      expect((await own.signIn(visitor, 'gail', at)).status).toBe(200);
      expect((await visitor.visit('/auth/whoami')).json.groups).toEqual(['approvers']);
      own.groups.set('gail', ['engineers']);
      const start = Date.now();
      await later.database.setTime(new Date(start + 16 * 60_000));
      expect((await visitor.visit('/auth/whoami')).json.groups).toEqual(['engineers']);
      // While the provider is unavailable the person can read, but cannot request access with groups of that age.
      await own.close();
      await later.database.setTime(new Date(start + 40 * 60_000));
      expect((await visitor.visit('/auth/whoami')).status).toBe(200);
      const asked = await visitor.visit('/elevate', { body: { role: 'reader', reason: 'x' } });
      expect([asked.status, asked.headers['retry-after']]).toEqual([503, '5']);
    } finally {
      await own.close();
    }
  });
});
