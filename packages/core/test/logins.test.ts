import { createHash } from 'node:crypto';
import {
  beginLogin,
  completeLogin,
  createLogin,
  createToken,
  endLogin,
  exchangeLoginCode,
  expireLogins,
  verifyLogin,
  withActor,
} from '@belay/core';
import { type AuthorizationRequest, type Connector, Terminal } from '@belay/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkCallback } from '../src/logins/callback.js';
import { clickFor } from './support/click.js';
import { type Cast, catalogWith, hour, minute, openCast, second } from './support/stories.js';

const verifier = 'a verifier of the program that is long enough to be one';
const challenge = createHash('sha256').update(verifier).digest('base64url');

/** Targets that would make an open redirect. */
const elsewhere = [
  '/executions',
  'executions?x=1',
  'http:127.0.0.1:8080/executions',
  'http://127.0.0.1:8080/executions#x',
  '//evil.example.com',
  '/\\evil.example.com',
  '\\\\evil.example.com',
  'https:evil.example.com',
  'https://evil.example.com/back',
  'https://tools.example.com/other',
  'https://tools.example.com.evil.example.com/back',
  'https://tools.example.com@evil.example.com/back',
  'https://evil.example.com#tools.example.com/back',
  'https://tools.example.com:444/back',
  'http://tools.example.com/back',
  'https://user:pass@tools.example.com/back',
  'http://user@127.0.0.1/',
  'http://127.0.0.1.evil.example.com/',
  'http://localhost.evil.example.com/',
  'http://127.0.0.1:8080@evil.example.com/',
  'https://127.0.0.1/',
  'javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,hello',
  'file:///etc/passwd',
  'blob:http://127.0.0.1:8080/x',
  '\t//evil.example.com',
  'http://[::ffff:1.2.3.4]/',
  'https://tools.example.com/back/../other',
  'https://tools.example.com/back%2f..%2fother',
];
const allowed = [
  ['http://127.0.0.1:8080/executions?x=1', 'http://127.0.0.1:8080/executions?x=1'],
  ['https://tools.example.com/back?x=1', 'https://tools.example.com/back?x=1'],
  ['http://localhost:5555/cb', 'http://localhost:5555/cb'],
  ['http://[::1]:5555/cb', 'http://[::1]:5555/cb'],
  ['http://127.0.0.1:8080/../../x', 'http://127.0.0.1:8080/x'],
] as const;

/** Returns an identity provider that knows one person and checks what comes back, as real ones do. */
function identityProvider(person: { emailVerified: boolean }) {
  const asked: AuthorizationRequest[] = [];
  const connector: Connector = {
    type: 'idp',
    description: 'An identity provider',
    capabilities: ['authenticator'],
    config: z.strictObject({}),
    create: () => ({
      authenticator: {
        async authorizationUrl(request) {
          asked.push(request);
          return new URL(`https://idp.example.com/authorize?state=${request.state}`);
        },
        async exchange(url, expected) {
          const request = asked.find(({ state }) => state === expected.state);
          const same =
            request &&
            request.nonce === expected.nonce &&
            request.codeVerifier === expected.codeVerifier &&
            request.redirectUri === expected.redirectUri;
          if (!same || url.searchParams.get('code') !== 'good') throw new Terminal('The code is not ours');
          return {
            subject: 's1',
            email: 'ada@example.com',
            emailVerified: person.emailVerified,
            name: 'Ada',
            groups: ['engineers'],
            tokens: { accessToken: 'secret' },
          };
        },
      },
      check: async () => {},
      close: async () => {},
    }),
  };
  return { connector, asked };
}

describe('logins', () => {
  let cast: Cast;
  let idp: ReturnType<typeof identityProvider>;
  const person = { emailVerified: true };
  beforeEach(async () => {
    person.emailVerified = true;
    idp = identityProvider(person);
    const catalog = catalogWith({}) as { providers: object };
    const providers = { ...catalog.providers, idp: { provider: 'idp', groups: 'all' } };
    cast = await openCast({
      catalog: { ...catalog, providers, server: { callbacks: ['https://tools.example.com/back'] } },
      connectors: [idp.connector],
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const begin = async (more: object = {}) => {
    await beginLogin(cast.house.ctx, { provider: 'idp', browserSecret: 'this browser', ...more });
    return idp.asked.at(-1)?.state ?? '';
  };
  const complete = (state: string, more: { code?: string; browserSecret?: string; provider?: string } = {}) =>
    completeLogin(cast.house.ctx, {
      provider: more.provider ?? 'idp',
      currentUrl: new URL(`http://127.0.0.1:8080/api/v1/auth/callback/idp?state=${state}&code=${more.code ?? 'good'}`),
      browserSecret: more.browserSecret ?? 'this browser',
    });

  it('of tokens do not slide', async () => {
    const { house } = cast;
    const { token, expires_at } = await createToken(house.operator(), {
      user: 'robot@example.com',
      ttl: 'PT24H',
      groups: ['engineers'],
    });
    for (let again = 0; again < 23; again += 1) {
      await house.database.advance(hour);
      expect(await verifyLogin(house.ctx, { token })).toMatchObject({ refreshed: false, kind: 'token' });
    }
    expect(Date.parse(expires_at)).toBe(Date.parse('2026-03-02T10:00:00Z'));
    await house.database.advance(hour + second);
    expect(await verifyLogin(house.ctx, { token })).toBeNull();
  });

  it('leave no secret in the database', async () => {
    const { house, ada } = cast;
    const { token } = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const state = await begin({ callback: 'http://127.0.0.1:9999/', codeChallenge: challenge });
    const done = await complete(state);
    const request = new URL(done.callback ?? '').searchParams.get('request') ?? '';
    const tables = ['logins', 'oauth_flows', 'login_codes', 'program_logins', 'ledger', 'users'];
    const waiting = JSON.stringify(await house.database.sql.unsafe('select * from program_logins'));
    expect(waiting).toContain('http://127.0.0.1:9999/');
    const code = await clickFor(house.ctx, done, 'this browser');
    const dump = JSON.stringify(
      await Promise.all(tables.map((table) => house.database.sql.unsafe(`select * from ${table}`))),
    );
    const sent = idp.asked.at(-1);
    for (const secret of [token, done.token, request, code, state, sent?.nonce, sent?.codeVerifier, 'this browser']) {
      expect(secret?.length).toBeGreaterThan(10);
      expect(dump + waiting).not.toContain(secret);
    }
    expect(dump).toContain(createHash('sha256').update(token).digest('base64url'));
  });

  it('are dead everywhere at once when they end', async () => {
    const { house, ada } = cast;
    const { token } = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const verified = await verifyLogin(house.ctx, { token });
    if (!verified) throw new Error('not signed in');
    expect(await endLogin(withActor(house.ctx, verified.actor), { provider: 'another' })).toMatchObject({
      ended: false,
    });
    expect(await verifyLogin(house.ctx, { token })).not.toBeNull();
    expect(await endLogin(withActor(house.ctx, verified.actor), {})).toMatchObject({ ended: true });
    // A second sign-out, whose login was verified before the first one ended it.
    expect(await endLogin(withActor(house.ctx, verified.actor), {})).toEqual({
      message: 'You are not signed in',
      ended: true,
    });
    expect(await verifyLogin(house.ctx, { token })).toBeNull();
    for (const wrong of ['', 'x', 'x'.repeat(500), `${token}x`])
      expect(await verifyLogin(house.ctx, { token: wrong })).toBeNull();
  });

  it('come back once, to the browser that began, in time, and from the provider that was asked', async () => {
    const { house } = cast;
    const state = await begin();
    await expect(complete(state, { browserSecret: 'another browser' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(complete('made up')).rejects.toMatchObject({ code: 'invalid' });
    await expect(complete('')).rejects.toMatchObject({ code: 'invalid' });
    await expect(complete(state, { provider: 'memory' })).rejects.toMatchObject({ code: 'not_found' });
    // None of these attempts used up the state.
    const done = await complete(state);
    expect(await verifyLogin(house.ctx, { token: done.token })).toMatchObject({
      actor: { email: 'ada@example.com', groups: ['engineers'] },
    });
    await expect(complete(state)).rejects.toMatchObject({ code: 'invalid' });
    const late = await begin();
    await house.database.advance(10 * minute + second);
    await expect(complete(late)).rejects.toMatchObject({ code: 'invalid' });
    await expect(complete(await begin(), { code: 'bad' })).rejects.toMatchObject({ code: 'forbidden' });
    person.emailVerified = false;
    await expect(complete(await begin())).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('of programs are exchanged once, in time, with the verifier', async () => {
    const { house } = cast;
    const codeOf = async () => {
      const done = await complete(await begin({ callback: 'http://127.0.0.1:9999/cb', codeChallenge: challenge }));
      return clickFor(house.ctx, done, 'this browser');
    };
    const exchange = (code: string, code_verifier = verifier) => exchangeLoginCode(house.ctx, { code, code_verifier });
    const code = await codeOf();
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => exchange(code)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const wrong = await codeOf();
    await expect(exchange(wrong, 'a guess')).rejects.toMatchObject({ code: 'forbidden' });
    // A wrong guess uses up the code, so there is no second attempt.
    await expect(exchange(wrong)).rejects.toMatchObject({ code: 'forbidden' });
    const late = await codeOf();
    await house.database.advance(minute + second);
    await expect(exchange(late)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(begin({ callback: 'http://127.0.0.1:9999/cb', codeChallenge: 'plain' })).rejects.toMatchObject({
      code: 'invalid',
    });
    await expect(begin({ codeChallenge: challenge })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('return nowhere but where they may', async () => {
    for (const callback of elsewhere) {
      await expect(begin({ callback }), callback).rejects.toMatchObject({
        code: 'invalid',
        issues: [{ path: 'callback' }],
      });
    }
    for (const [callback, expected] of allowed) expect(checkCallback(cast.house.ctx, callback).href).toBe(expected);
  });

  it('that are over are swept away, with flows and codes', async () => {
    const { house, ada } = cast;
    await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    await complete(await begin({ callback: 'http://127.0.0.1:9999/cb', codeChallenge: challenge }));
    await house.database.advance(20 * hour);
    const { token } = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    expect(await expireLogins(house.ctx)).toBeGreaterThan(0);
    for (const [table, left, of = ''] of [
      ['logins', 1, "where kind <> 'token'"],
      ['oauth_flows', 0],
      ['program_logins', 0],
      ['login_codes', 0],
    ] as const) {
      expect([table, await house.database.sql.unsafe(`select from ${table} ${of}`)]).toMatchObject([
        table,
        { length: left },
      ]);
    }
    expect(await verifyLogin(house.ctx, { token })).not.toBeNull();
  });

  it('tokens are made by operators only, and never with groups that are not theirs', async () => {
    const { house, ada } = cast;
    await expect(createToken(ada, { user: 'x@example.com', ttl: 'PT1H' })).rejects.toMatchObject({ code: 'forbidden' });
    const operator = house.operator();
    await expect(
      createToken(operator, { user: 'ada@example.com', ttl: 'PT1H', groups: ['admins'] }),
    ).rejects.toMatchObject({ code: 'invalid' });
    await expect(createToken(operator, { user: 'nobody', ttl: 'PT1H' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(createToken(operator, { user: 'x@example.com', ttl: 'P400D' })).rejects.toMatchObject({
      code: 'invalid',
    });
    await expect(createToken(operator, { user: 'x@example.com', ttl: '-PT1H' })).rejects.toMatchObject({
      code: 'invalid',
    });
    expect((await createToken(operator, { user: 'Ada@Example.com', ttl: 'PT1H' })).user).toMatchObject({
      groups: ['engineers'],
    });
  });
});
