import { createHash } from 'node:crypto';
import {
  type ActorContext,
  authorizeSession,
  beginLogin,
  completeLogin,
  completeSession,
  createKeyring,
  createLogin,
  endLogin,
  exchangeLoginCode,
  expireLogins,
  issueSession,
  listSessions,
  refreshSessions,
  requestElevation,
  type UserActor,
  verifyLogin,
  verifySession,
  withActor,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, seal } from '../src/tokens/seal.js';
import { clickFor } from './support/click.js';
import { createPeopleProvider, type PeopleProvider, type Told } from './support/people-provider.js';
import { type Cast, catalogWith, hour, minute, openCast, second, together } from './support/stories.js';

type Me = ActorContext & { actor: UserActor };

let cast: Cast;
let corp: PeopleProvider;
let hub: PeopleProvider;
let evil: PeopleProvider;
const refreshable = { refreshToken: 'secret-refresh-0', expiresInMilliseconds: hour };
const verifier = 'a verifier of the program that is long enough to be one';
const challenge = createHash('sha256').update(verifier).digest('base64url');

beforeEach(async () => {
  [corp, hub, evil] = [createPeopleProvider('corp'), createPeopleProvider('hub'), createPeopleProvider('evil')];
  const catalog = catalogWith({}, { authenticators: ['corp', 'login'] }) as { providers: object };
  const providers = {
    ...catalog.providers,
    corp: {
      provider: 'corp',
      trusted_email_domains: ['Example.com'],
      groups: 'all',
      config: { scopes: ['openid'], session_scopes: ['repo'] },
    },
    hub: { provider: 'hub', groups: 'all', trusted_email_domains: ['example.com'] },
    evil: { provider: 'evil' },
  };
  cast = await openCast({
    catalog: { ...catalog, providers, server: { callbacks: ['https://tools.example.com/back'] } },
    connectors: [corp.connector, hub.connector, evil.connector],
  });
});
afterEach(() => cast[Symbol.asyncDispose]());

const idOf = (provider: PeopleProvider) => provider.connector.type;
const answerOf = (provider: PeopleProvider, query = 'code=good') =>
  new URL(
    `http://127.0.0.1:8080/api/v1/auth/callback/${idOf(provider)}?state=${provider.asked.at(-1)?.state}&${query}`,
  );

interface Browser {
  me: Me | undefined;
  token: string;
}
const openBrowser = (): Browser => ({ me: undefined, token: '' });

/**
 * Signs in as the person whom the provider names, from one of our pages or, with `elsewhere`, from another site; the
 * browser is then signed in as that person.
 */
async function signIn(browser: Browser, provider: PeopleProvider, person: Told, from: 'here' | 'elsewhere' = 'here') {
  const { ctx } = cast.house;
  provider.state.person = person;
  const browserSecret = 'the secret of the browser';
  const signedIn = browser.me?.actor;
  await beginLogin(ctx, { provider: idOf(provider), browserSecret, signedIn: from === 'here' ? signedIn : undefined });
  const done = await completeLogin(ctx, {
    provider: idOf(provider),
    currentUrl: answerOf(provider),
    browserSecret,
    signedIn,
  });
  const verified = await verifyLogin(ctx, { token: done.token });
  if (!verified) throw new Error('not signed in');
  browser.token = done.token;
  browser.me = withActor(ctx, verified.actor);
  return browser.me;
}

/** Signs in a program; returns its bearer token and session. */
async function signInProgram(provider: PeopleProvider, person: Told) {
  const { ctx } = cast.house;
  provider.state.person = person;
  const callback = 'http://127.0.0.1:9999/cb';
  await beginLogin(ctx, { provider: idOf(provider), browserSecret: 'its browser', callback, codeChallenge: challenge });
  const done = await completeLogin(ctx, {
    provider: idOf(provider),
    currentUrl: answerOf(provider),
    browserSecret: 'its browser',
  });
  const code = await clickFor(ctx, done, 'its browser');
  const exchanged = await exchangeLoginCode(ctx, { code, code_verifier: verifier });
  const verified = await verifyLogin(ctx, { token: exchanged.token });
  if (!verified) throw new Error('not signed in');
  return { me: withActor(ctx, verified.actor), ...exchanged };
}

const ada = { subject: 'ada', email: 'ada@example.com' };
const adaAtHub = { subject: 'ada-on-hub', email: 'ada@home.example.org' };
const sessionsOf = async (me: ActorContext) => (await listSessions(me)).sessions;
const rows = (table: string) => cast.house.database.sql.unsafe(`select * from ${table}`);

describe('a session', () => {
  it('opens with the login, at version 1, until the provider’s tokens end', async () => {
    const me = await signIn(openBrowser(), corp, { ...ada, tokens: { expiresInMilliseconds: hour } });
    expect(await listSessions(me)).toEqual({
      version: '1.0.1',
      timestamp: '2026-03-01T10:00:00.000Z',
      sessions: { corp: { version: 1, expiry: '2026-03-01T11:00:00.000Z' } },
    });
    await cast.house.database.advance(hour);
    expect(await sessionsOf(me)).toEqual({});
    await expireLogins(cast.house.ctx);
    expect(await rows('sessions')).toHaveLength(0);
  });

  it('goes on where the provider refreshes: new tokens, next version, for as long as the login lives', async () => {
    const browser = openBrowser();
    const me = await signIn(browser, corp, { ...ada, tokens: refreshable });
    const { house } = cast;
    for (let version = 2; version <= 5; version += 1) {
      await house.database.advance(46 * minute);
      await verifyLogin(house.ctx, { token: browser.token });
      await expireLogins(house.ctx);
      expect(await sessionsOf(me)).toMatchObject({ corp: { version } });
    }
    expect(corp.refreshed).toEqual(['secret-refresh-0', 'secret-refresh-1', 'secret-refresh-2', 'secret-refresh-3']);
    await endLogin(me, {});
    await house.database.advance(46 * minute);
    await expireLogins(house.ctx);
    expect(corp.refreshed).toHaveLength(4);
  });

  it('is refreshed before its end and not much before', async () => {
    await signIn(openBrowser(), corp, { ...ada, tokens: refreshable });
    await cast.house.database.advance(44 * minute);
    expect(await refreshSessions(cast.house.ctx)).toBe(0);
    await cast.house.database.advance(2 * minute);
    expect(await refreshSessions(cast.house.ctx)).toBe(1);
  });

  it('revives when the sweep came later than a short token lasts, and counts for nothing in between', async () => {
    const me = await signIn(openBrowser(), corp, {
      ...ada,
      tokens: { ...refreshable, expiresInMilliseconds: minute },
    });
    await cast.house.database.advance(5 * minute);
    expect(await sessionsOf(me)).toEqual({});
    await expireLogins(cast.house.ctx);
    expect(await sessionsOf(me)).toMatchObject({ corp: { version: 2 } });
  });

  it('is never refreshed by two workers at once', async () => {
    const me = await signIn(openBrowser(), corp, { ...ada, tokens: refreshable });
    await cast.house.database.advance(50 * minute);
    let release = () => {};
    corp.state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const workers = Array.from({ length: 6 }, () => refreshSessions(cast.house.ctx));
    // The worker with the lease waits for the provider; the others find nothing to do.
    await Promise.any(workers);
    release();
    const counts = await Promise.all(workers);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect([corp.state.attempts, corp.refreshed]).toEqual([1, ['secret-refresh-0']]);
    expect(await sessionsOf(me)).toMatchObject({ corp: { version: 2 } });
  });

  it.each(['update', 'delete'])('takes no tokens that come too late: after an %s of it', async (change) => {
    await signIn(openBrowser(), corp, { ...ada, tokens: refreshable });
    const { database, ctx } = cast.house;
    await database.advance(50 * minute);
    let release = () => {};
    corp.state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const working = refreshSessions(ctx);
    await expect.poll(() => corp.state.attempts, { timeout: 30_000 }).toBe(1);
    // Newer tokens were stored meanwhile, or the login ended together with the session.
    await database.sql.unsafe(change === 'update' ? "update sessions set sealed = 'newer'" : 'delete from logins');
    release();
    expect(await working).toBe(0);
    expect((await rows('sessions')).map(({ sealed }) => sealed as string)).toEqual(
      change === 'update' ? ['newer'] : [],
    );
  });

  it('ends, and its login with it, when the provider ends it, and waits when the provider is down', async () => {
    const me = await signIn(openBrowser(), corp, { ...ada, tokens: refreshable });
    const { house } = cast;
    await house.database.advance(46 * minute);
    corp.state.refresh = 'is down';
    await expireLogins(house.ctx);
    const { document } = house.catalog.current();
    const off = { ...document.providers, corp: { ...document.providers.corp, enabled: false } };
    await house.applyCatalog({ ...document, providers: off });
    await house.database.advance(2 * minute);
    await expireLogins(house.ctx);
    await house.applyCatalog(document);
    expect(await sessionsOf(me)).toMatchObject({ corp: { version: 1 } });
    await house.database.advance(2 * minute);
    corp.state.refresh = 'refuses';
    await expireLogins(house.ctx);
    expect(await sessionsOf(me)).toEqual({});
    expect((await rows('logins')).map(({ id }) => id as string)).not.toContain(me.actor.loginId);
    expect((await rows('ledger')).map(({ type }) => type as string)).toEqual(expect.arrayContaining(['login.ended']));
  });

  it('leaves no token in the database or the ledger, and the tokens open for nothing else', async () => {
    const program = await signInProgram(corp, { ...ada, tokens: refreshable });
    await cast.house.database.advance(50 * minute);
    await expireLogins(cast.house.ctx);
    const tables = ['sessions', 'logins', 'login_codes', 'oauth_flows', 'ledger', 'users', 'user_identities'];
    const dump = JSON.stringify(await Promise.all(tables.map(rows)));
    expect(dump).toContain('session.refreshed');
    for (const secret of ['secret-access', 'secret-refresh', program.token, program.session.session]) {
      expect(dump).not.toContain(secret);
    }
    const [stored] = await rows('sessions');
    for (const purpose of ['state', 'signal', 'oauth'] as const) {
      await expect(open(cast.house.ctx.keyring, purpose, String(stored?.sealed), new Date())).rejects.toMatchObject({
        code: 'invalid',
      });
    }
  });
});

describe('a session that is presented', () => {
  const elevate = (me: ActorContext, more: object) =>
    requestElevation(me, { role: 'reader', reason: 'a ticket', workflow: 'automatic', ...more });

  it('proves its authenticator', async () => {
    const { house } = cast;
    const { me, session } = await signInProgram(corp, { ...ada, groups: ['engineers'] });
    expect(await verifySession(me, session)).toMatchObject({ provider: 'corp', version: 1 });
    expect(await elevate(me, { authenticator: 'corp', session })).toMatchObject({ status: 'pending' });
    // With another login of the same person, which proves another provider.
    const { loginId } = await createLogin(house.ctx, { user: { ...me.actor, provider: 'hub' }, kind: 'browser' });
    const other = withActor(house.ctx, { ...me.actor, provider: 'hub', loginId });
    await expect(elevate(other, { authenticator: 'corp' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(elevate(other, {})).rejects.toMatchObject({ code: 'forbidden' });
    expect(await elevate(other, { authenticator: 'corp', session })).toMatchObject({ status: 'pending' });
    await expect(elevate(me, { authenticator: 'hub', session })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('is rejected when it is another person’s', async () => {
    const victim = await signInProgram(corp, ada);
    const thief = await signInProgram(hub, { subject: 'mallory', email: 'mallory@example.org', groups: ['engineers'] });
    await expect(verifySession(thief.me, victim.session)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(elevate(thief.me, { authenticator: 'corp', session: victim.session })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('is rejected from the moment that its login or its provider’s session ends, or the provider is switched off', async () => {
    const one = await signInProgram(corp, ada);
    const two = await signInProgram(corp, ada);
    expect(await verifySession(two.me, one.session)).toMatchObject({ provider: 'corp' });
    await endLogin(one.me, {});
    await expect(verifySession(two.me, one.session)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await verifySession(two.me, two.session)).toMatchObject({ provider: 'corp' });
    await endLogin(two.me, { provider: 'corp' });
    await expect(verifySession(two.me, two.session)).rejects.toMatchObject({ code: 'unauthenticated' });
    const three = await signInProgram(hub, adaAtHub);
    const { document } = cast.house.catalog.current();
    const hubOff = { ...document.providers, hub: { ...document.providers.hub, enabled: false } };
    await cast.house.applyCatalog({ ...document, providers: hubOff });
    await expect(verifySession(three.me, three.session)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await sessionsOf(three.me)).toEqual({});
  });

  it('is rejected when its login has run out, before anything swept it away', async () => {
    const { me, session } = await signInProgram(corp, { ...ada, tokens: { expiresInMilliseconds: 48 * hour } });
    // It expires with the login of the browser from which it was created.
    expect(Date.parse(session.expiry) - Date.parse('2026-03-01T10:00:00.000Z')).toBe(12 * hour);
    await cast.house.database.sql.unsafe(`update logins set expires_at = app_now() where id = '${me.actor.loginId}'`);
    await expect(verifySession(me, session)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await rows('sessions')).not.toHaveLength(0);
  });

  it('is rejected when it is old: expired, or of an earlier version', async () => {
    const { me, session } = await signInProgram(corp, { ...ada, tokens: refreshable });
    await cast.house.database.advance(50 * minute);
    await expireLogins(cast.house.ctx);
    await expect(verifySession(me, session)).rejects.toMatchObject({ code: 'unauthenticated' });
    const { session: current } = await issueSession(me, { provider: 'corp' });
    expect(current.version).toBe(2);
    expect(await verifySession(me, current)).toMatchObject({ version: 2 });
    await expect(verifySession(me, { ...current, version: 1 })).rejects.toMatchObject({ code: 'invalid' });
    await cast.house.database.advance(hour + second);
    await expect(verifySession(me, current)).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'session' }] });
  });

  it('is rejected when we did not make it for this', async () => {
    const { ctx } = cast.house;
    const { me, session } = await signInProgram(corp, ada);
    const [stored] = await rows('sessions');
    const now = new Date('2026-03-01T10:00:00.000Z');
    const payload = { kind: 'session', user: me.actor.id, login: me.actor.loginId, provider: 'corp', version: 1 };
    const forged = [
      '',
      'x',
      `${session.session.slice(0, -6)}AAAAAA`,
      String(stored?.sealed),
      await seal(ctx.keyring, 'signal', payload, { now, lifetime: hour }),
      await seal(createKeyring(['another installation with its own secret']), 'session', payload, {
        now,
        lifetime: hour,
      }),
    ];
    for (const each of forged) {
      await expect(verifySession(me, { session: each })).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('is given only for the caller’s own login', async () => {
    await signIn(openBrowser(), corp, ada);
    const { me } = await signInProgram(hub, adaAtHub);
    await expect(issueSession(me, { provider: 'corp' })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('several providers at once', () => {
  it('signing in with a second one links it, keeps the first and changes the secret', async () => {
    const browser = openBrowser();
    const first = await signIn(browser, corp, ada);
    const old = browser.token;
    const second = await signIn(browser, hub, adaAtHub);
    expect(second.actor).toMatchObject({ id: first.actor.id, provider: 'hub', subject: 'ada-on-hub' });
    expect(Object.keys(await sessionsOf(second))).toEqual(['corp', 'hub']);
    expect(await verifyLogin(cast.house.ctx, { token: old })).toBeNull();
    expect((await rows('ledger')).map(({ type }) => type as string)).toContain('identity.linked');
    // From now on both identities lead to the same person.
    expect((await signIn(openBrowser(), hub, adaAtHub)).actor.id).toBe(first.actor.id);
    expect((await signIn(openBrowser(), corp, ada)).actor).toMatchObject({ id: first.actor.id, email: ada.email });
  });

  it('the request of a role counts every provider that the login is signed in with', async () => {
    const browser = openBrowser();
    await signIn(browser, corp, { ...ada, groups: ['engineers'] });
    const me = await signIn(browser, hub, { ...ada, subject: 'ada-on-hub', groups: ['engineers'] });
    const ask = (authenticator: string) =>
      requestElevation(me, { role: 'reader', reason: 'x', workflow: 'automatic', authenticator });
    expect(await ask('corp')).toMatchObject({ status: 'pending' });
    await expect(ask('hub')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(ask('evil')).rejects.toMatchObject({ code: 'invalid' });
  });

  it('signing out of one leaves the other, and the login speaks for that one; out of the last ends the login', async () => {
    const browser = openBrowser();
    await signIn(browser, corp, ada);
    const me = await signIn(browser, hub, adaAtHub);
    expect(await endLogin(me, { provider: 'evil' })).toMatchObject({ ended: false });
    expect(await endLogin(me, { provider: 'hub' })).toMatchObject({ ended: false });
    const left = await verifyLogin(cast.house.ctx, { token: browser.token });
    expect(left?.actor).toMatchObject({ id: me.actor.id, provider: 'corp', email: ada.email });
    expect(Object.keys(await sessionsOf(me))).toEqual(['corp']);
    expect(await endLogin(me, { provider: 'corp' })).toMatchObject({ ended: true });
    expect(await verifyLogin(cast.house.ctx, { token: browser.token })).toBeNull();
  });

  it('signing out ends all of them', async () => {
    const browser = openBrowser();
    await signIn(browser, corp, ada);
    const me = await signIn(browser, hub, adaAtHub);
    expect(await endLogin(me, {})).toMatchObject({ ended: true });
    expect(await rows('sessions')).toHaveLength(0);
    expect(await together([endLogin(me, {}), endLogin(me, { provider: 'hub' })])).toEqual(['ok', 'ok']);
  });

  it('signing out while the next sign-in comes back is no fault', async () => {
    for (let round = 0; round < 5; round += 1) {
      const browser = openBrowser();
      const me = await signIn(browser, corp, ada);
      expect(await together([signIn(browser, hub, adaAtHub), endLogin(me, {})])).toEqual(['ok', 'ok']);
    }
  });

  it('another person at the same provider takes the browser over and is linked to no one', async () => {
    const browser = openBrowser();
    const first = await signIn(browser, corp, ada);
    const next = await signIn(browser, corp, { subject: 'grace', email: 'grace@example.com' });
    expect(next.actor.id).not.toBe(first.actor.id);
    expect(await rows('user_identities')).toHaveLength(4 + 2);
  });
});

describe('linking cannot take anyone over', () => {
  it('a sign-in that another site began is linked to no one', async () => {
    const browser = openBrowser();
    const victim = await signIn(browser, corp, ada);
    const planted = await signIn(browser, evil, { subject: 'm', email: 'mallory@evil.example' }, 'elsewhere');
    expect(planted.actor.id).not.toBe(victim.actor.id);
  });

  it('a sign-in is linked to the person who began it and not to one who signed in meanwhile', async () => {
    const { ctx } = cast.house;
    const mallory = await signIn(openBrowser(), corp, { subject: 'mallory', email: 'mallory@example.com' });
    const victim = await signIn(openBrowser(), corp, ada);
    evil.state.person = { subject: 'm', email: 'm@evil.example' };
    await beginLogin(ctx, { provider: 'evil', browserSecret: 'b', signedIn: mallory.actor });
    const currentUrl = answerOf(evil);
    const done = await completeLogin(ctx, { provider: 'evil', currentUrl, browserSecret: 'b', signedIn: victim.actor });
    expect([victim.actor.id, mallory.actor.id]).not.toContain(done.user.id);
    await expect(
      completeLogin(ctx, { provider: 'evil', currentUrl, browserSecret: 'b', signedIn: victim.actor }),
    ).rejects.toMatchObject({ code: 'invalid' });
  });

  it('a provider that is not trusted cannot claim the victim’s address', async () => {
    const victim = await signIn(openBrowser(), corp, ada);
    const attacker = await signIn(openBrowser(), evil, { subject: 'm', email: 'ada@example.com' });
    expect(attacker.actor.id).not.toBe(victim.actor.id);
  });

  it('nor lie in wait with it', async () => {
    const attacker = await signIn(openBrowser(), evil, { subject: 'm', email: 'ADA@example.com' });
    const victim = await signIn(openBrowser(), corp, ada);
    expect(attacker.actor.id).not.toBe(victim.actor.id);
    expect((await signIn(openBrowser(), hub, ada)).actor.id).toBe(victim.actor.id);
  });

  it('nor can an unverified address, a domain that is not the trusted one, or an address of two people', async () => {
    const victim = await signIn(openBrowser(), corp, ada);
    await expect(signIn(openBrowser(), hub, { ...ada, subject: 'u', emailVerified: false })).rejects.toMatchObject({
      code: 'forbidden',
    });
    for (const email of ['ada@example.com.evil.example', 'ada@notexample.com']) {
      await signIn(openBrowser(), corp, { subject: `c ${email}`, email });
      const other = await signIn(openBrowser(), hub, { subject: `h ${email}`, email });
      expect(other.actor.id).not.toBe(victim.actor.id);
      const identities = await rows('user_identities');
      expect(identities.filter(({ user_id }) => user_id === other.actor.id)).toHaveLength(1);
    }
    await signIn(openBrowser(), corp, { subject: 'namesake', email: 'ada@example.com' });
    const third = await signIn(openBrowser(), hub, { subject: 'who', email: 'ada@example.com' });
    expect((await rows('user_identities')).filter(({ user_id }) => user_id === third.actor.id)).toHaveLength(1);
  });

  it('an identity that is a person’s stays theirs, also when another person is signed in where it is proved', async () => {
    const owner = await signIn(openBrowser(), hub, adaAtHub);
    const browser = openBrowser();
    const thief = await signIn(browser, corp, { subject: 'mallory', email: 'mallory@example.com' });
    const after = await signIn(browser, hub, adaAtHub);
    expect(after.actor.id).toBe(owner.actor.id);
    expect(after.actor.id).not.toBe(thief.actor.id);
  });

  it('and of many that link the same identity at once, one does', async () => {
    const people: Me[] = [];
    for (const subject of ['a', 'b', 'c', 'd']) {
      people.push(await signIn(openBrowser(), corp, { subject, email: `${subject}@home.example` }));
    }
    hub.state.person = { subject: 'one', email: 'one@home.example' };
    const { ctx } = cast.house;
    const urls: URL[] = [];
    for (const { actor } of people) {
      await beginLogin(ctx, { provider: 'hub', browserSecret: actor.id, signedIn: actor });
      urls.push(answerOf(hub));
    }
    await Promise.all(
      people.map(({ actor }, index) =>
        completeLogin(ctx, {
          provider: 'hub',
          currentUrl: urls[index] as URL,
          browserSecret: actor.id,
          signedIn: actor,
        }),
      ),
    );
    expect((await rows('user_identities')).filter(({ provider }) => provider === 'hub')).toHaveLength(1);
  });
});

describe('authorizeSession', () => {
  const input = {
    scopes: ['openid', 'repo'],
    state: 'the client’s own / état &=?',
    redirect_uri: 'http://127.0.0.1:7/x',
  };

  it('opens a session for the login that asked, with the scopes requested, and hands the state back as it is', async () => {
    const { me } = await signInProgram(corp, ada);
    const begun = await authorizeSession(me, { ...input, provider: 'corp' });
    expect(begun.expires_in).toBe(600);
    const asked = corp.asked.at(-1);
    expect(asked?.scopes).toEqual(['openid', 'repo']);
    expect(asked?.redirectUri).toBe('http://127.0.0.1:8080/api/v1/auth/callback/corp');
    expect(begun.url).not.toContain('client');
    const finish = () =>
      completeSession(cast.house.ctx, { provider: 'corp', currentUrl: answerOf(corp), browserSecret: undefined });
    const done = await finish();
    const url = new URL(done?.callback ?? '');
    expect([url.origin, url.pathname, url.searchParams.get('state')]).toEqual([
      'http://127.0.0.1:7',
      '/x',
      input.state,
    ]);
    expect(await sessionsOf(me)).toMatchObject({ corp: { version: 2 } });
    // A replayed response changes no session.
    expect(await finish()).toBeNull();
    expect(await sessionsOf(me)).toMatchObject({ corp: { version: 2 } });
  });

  it('rejects scopes, redirects and providers that are not allowed', async () => {
    const { me } = await signInProgram(corp, ada);
    const ask = (more: object) => authorizeSession(me, { ...input, provider: 'corp', ...more });
    await expect(ask({ scopes: ['openid', 'admin'] })).rejects.toMatchObject({ issues: [{ path: 'scopes[1]' }] });
    for (const redirect_uri of [
      'https://evil.example.com/',
      'javascript:alert(1)',
      'https://tools.example.com/other',
    ]) {
      await expect(ask({ redirect_uri })).rejects.toMatchObject({
        code: 'invalid',
        issues: [{ path: 'redirect_uri' }],
      });
    }
    await expect(ask({ provider: 'memory' })).rejects.toMatchObject({ code: 'not_configured' });
    await expect(ask({ provider: 'nobody' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(ask({ state: 'x'.repeat(2001) })).rejects.toMatchObject({ issues: [{ path: 'state' }] });
  });

  it('gives no one the session of a victim whom they send through it', async () => {
    const mallory = await signInProgram(corp, { subject: 'mallory', email: 'mallory@home.example' });
    await signIn(openBrowser(), hub, adaAtHub);
    await authorizeSession(mallory.me, { ...input, provider: 'hub', scopes: [] });
    const finish = (signedIn?: UserActor) =>
      completeSession(cast.house.ctx, {
        provider: 'hub',
        currentUrl: answerOf(hub),
        browserSecret: 'the victim’s',
        signedIn,
      });
    hub.state.person = adaAtHub;
    await expect(finish()).rejects.toMatchObject({ code: 'forbidden' });
    // Nor the session of a person who has never signed in.
    await authorizeSession(mallory.me, { ...input, provider: 'hub', scopes: [] });
    hub.state.person = { subject: 'new', email: 'new@home.example' };
    await expect(finish()).rejects.toMatchObject({ code: 'forbidden' });
    await authorizeSession(mallory.me, { ...input, provider: 'hub', scopes: [] });
    await expect(finish(mallory.me.actor)).rejects.toMatchObject({ code: 'forbidden' });
    expect(Object.keys(await sessionsOf(mallory.me))).toEqual(['corp']);
    expect((await rows('user_identities')).filter(({ user_id }) => user_id === mallory.me.actor.id)).toHaveLength(1);
  });

  it('is bound to the browser that asked, links there, and is over with the login', async () => {
    const me = await signIn(openBrowser(), corp, ada);
    const begin = () => authorizeSession(me, { ...input, provider: 'hub', scopes: [], browserSecret: 'mine' });
    const finish = (browserSecret: string, signedIn: UserActor | undefined = me.actor) =>
      completeSession(cast.house.ctx, { provider: 'hub', currentUrl: answerOf(hub), browserSecret, signedIn });
    hub.state.person = adaAtHub;
    await begin();
    expect(await finish('another browser')).toBeNull();
    expect(await finish('mine')).toMatchObject({ callback: expect.stringContaining('state=') });
    expect(Object.keys(await sessionsOf(me))).toEqual(['corp', 'hub']);
    await begin();
    await endLogin(me, {});
    await expect(finish('mine')).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('cannot be finished as a sign-in, nor a sign-in as it', async () => {
    const { house, ada: person } = cast;
    const { loginId } = await createLogin(house.ctx, { user: person.actor, kind: 'device' });
    const me = withActor(house.ctx, { ...person.actor, loginId });
    await authorizeSession(me, { ...input, provider: 'hub', scopes: [] });
    await expect(
      completeLogin(house.ctx, { provider: 'hub', currentUrl: answerOf(hub), browserSecret: 'b' }),
    ).rejects.toMatchObject({ code: 'invalid' });
    await beginLogin(house.ctx, { provider: 'hub', browserSecret: 'b' });
    const attempt = { provider: 'hub', currentUrl: answerOf(hub), browserSecret: 'b' };
    expect(await completeSession(house.ctx, attempt)).toBeNull();
    expect(await completeLogin(house.ctx, attempt)).toMatchObject({ callback: null });
  });

  it('says so at the redirect URI when the person denies it there', async () => {
    const { me } = await signInProgram(corp, ada);
    await authorizeSession(me, { ...input, provider: 'corp' });
    const currentUrl = answerOf(corp, 'error=access_denied');
    const done = await completeSession(cast.house.ctx, { provider: 'corp', currentUrl, browserSecret: undefined });
    const url = new URL(done?.callback ?? '');
    expect([url.searchParams.get('error'), url.searchParams.get('state')]).toEqual(['access_denied', input.state]);
  });
});
