import { AccessError } from '@belay/contract/errors';
import {
  beginLogin,
  completeLogin,
  createLogin,
  createToken,
  decideApproval,
  expireLogins,
  refreshSessions,
  requestElevation,
  type UserActor,
  verifyLogin,
  withActor,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPeopleProvider, type PeopleProvider, type Told } from './support/people-provider.js';
import { type Cast, catalogWith, hour, minute, openCast, second } from './support/stories.js';

/** How logins end: after a time, when the provider ends them, and with groups that the provider has revoked. */

const approver: Told = { subject: 'gail', email: 'gail@example.com', groups: ['approvers'] };
const day = 24 * hour;
let cast: Cast;
let corp: PeopleProvider;
let told: PeopleProvider;

async function open(server: object = {}) {
  corp = createPeopleProvider('corp');
  told = createPeopleProvider('told');
  const catalog = catalogWith({}) as { providers: object; server?: object };
  const providers = {
    ...catalog.providers,
    corp: { provider: 'corp', groups: 'all' },
    told: { provider: 'told', groups: 'all' },
  };
  cast = await openCast({
    catalog: { ...catalog, providers, server: { ...catalog.server, ...server } },
    connectors: [corp.connector, told.connector],
  });
}
beforeEach(() => open());
afterEach(() => cast[Symbol.asyncDispose]());

const verify = (token: string) => verifyLogin(cast.house.ctx, { token });
const rows = (table: string) => cast.house.database.sql.unsafe(`select * from ${table}`);
const advance = (milliseconds: number) => cast.house.database.advance(milliseconds);

/** Signs in with a browser; returns the secret of the login. */
async function signIn(provider: PeopleProvider, person: Told, tokens: Told['tokens'] = {}): Promise<string> {
  const { ctx } = cast.house;
  provider.state.person = { ...person, ...(tokens ? { tokens } : {}) };
  const id = provider.connector.type;
  await beginLogin(ctx, { provider: id, browserSecret: 'this browser' });
  const state = provider.asked.at(-1)?.state;
  const currentUrl = new URL(`http://127.0.0.1:8080/api/v1/auth/callback/${id}?state=${state}&code=good`);
  return (await completeLogin(ctx, { provider: id, currentUrl, browserSecret: 'this browser' })).token;
}
const renewing = { refreshToken: 'secret-refresh-0', expiresInMilliseconds: 2 * hour };
const passing = { expiresInMilliseconds: 2 * hour };

describe('the absolute end of a login', () => {
  it('is 12 hours after the sign-in for a browser, however much it is used', async () => {
    const { house, ada } = cast;
    const { token, expiresAt } = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    for (let used = 0; used < 11; used += 1) {
      await advance(hour);
      expect(await verify(token)).toMatchObject({ actor: { id: ada.actor.id } });
    }
    expect(expiresAt.getTime() - house.ctx.clock().getTime()).toBeLessThanOrEqual(12 * hour);
    await advance(hour + second);
    expect(await verify(token)).toBeNull();
  });

  it('is 7 days after the sign-in for a device, which slides until then and no further', async () => {
    const { house, ada } = cast;
    const { token } = await createLogin(house.ctx, { user: ada.actor, kind: 'device' });
    for (let used = 0; used < 16; used += 1) {
      await advance(10 * hour);
      expect(await verify(token)).not.toBeNull();
    }
    await advance(7 * hour);
    const last = await verify(token);
    expect(last).not.toBeNull();
    await advance(hour + second);
    expect(await verify(token)).toBeNull();
    const idle = await createLogin(house.ctx, { user: ada.actor, kind: 'device' });
    await advance(12 * hour + second);
    expect(await verify(idle.token)).toBeNull();
  });

  it('is earlier where an operator says so, for logins that are older than the setting too', async () => {
    const { house, ada } = cast;
    const older = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const { document } = house.catalog.current();
    await house.applyCatalog({
      ...document,
      server: { ...document.server, login: { browser: 'PT1H', device: 'P1D' } },
    });
    const newer = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const device = await createLogin(house.ctx, { user: ada.actor, kind: 'device' });
    await advance(59 * minute);
    for (const { token } of [older, newer, device]) expect(await verify(token)).not.toBeNull();
    await advance(2 * minute);
    for (const { token } of [older, newer]) expect(await verify(token)).toBeNull();
    for (const hours of [9, 9, 4]) {
      await advance(hours * hour);
      expect(await verify(device.token)).not.toBeNull();
    }
    await advance(2 * hour);
    expect(await verify(device.token)).toBeNull();
  });

  it('cannot be later than what is built in, nor nothing', async () => {
    const { house } = cast;
    const { document } = house.catalog.current();
    for (const [login, path] of [
      [{ browser: 'PT13H' }, 'server.login.browser'],
      [{ device: 'P8D' }, 'server.login.device'],
      [{ browser: 'PT1S' }, 'server.login.browser'],
      [{ device: 'soon' }, 'server.login.device'],
    ] as const) {
      const applied = house.applyCatalog({ ...document, server: { ...document.server, login } });
      await expect(applied).rejects.toMatchObject({ issues: [{ path }] });
    }
  });

  it('is not moved by refreshing the session again and again', async () => {
    const token = await signIn(corp, approver, renewing);
    for (let used = 0; used < 15; used += 1) {
      await advance(50 * minute);
      if (used < 14) expect([used, await verify(token)]).not.toEqual([used, null]);
      await expireLogins(cast.house.ctx);
    }
    expect(await verify(token)).toBeNull();
    expect(await rows('sessions')).toHaveLength(0);
  });
});

describe('a provider that no longer honours a sign-in', () => {
  it.each(['rejects the refresh', 'rejects the access token'])('and %s ends what hangs on it', async (how) => {
    const token = await signIn(corp, approver, how === 'rejects the refresh' ? renewing : passing);
    const other = await signIn(told, { subject: 'bo', email: 'bo@example.com' }, passing);
    corp.state.refresh = 'refuses';
    corp.state.reread = 'refuses';
    await advance(16 * minute);
    expect(await verify(token)).toBeNull();
    expect(await verify(other)).not.toBeNull();
    expect((await rows('ledger')).filter(({ type }) => type === 'login.ended')).toHaveLength(1);
  });

  it('that gave nothing to read the groups with is named in the log once', async () => {
    const tokens = [await signIn(corp, approver, passing), await signIn(corp, { ...approver, subject: 'bo' }, passing)];
    const said: unknown[] = [];
    const { ctx } = cast.house;
    const log = { ...ctx.log, warn: (detail: object, message: string) => void said.push({ ...detail, message }) };
    await advance(3 * hour);
    for (const token of tokens) expect(await verifyLogin({ ...ctx, log }, { token })).not.toBeNull();
    expect(said).toEqual([{ provider: 'corp', message: expect.stringContaining('have no refresh token') }]);
  });

  it('that cannot be reached, or cannot tell, ends nothing', async () => {
    const token = await signIn(corp, approver, renewing);
    corp.state.refresh = 'is down';
    for (const reread of ['is down', 'is silent'] as const) {
      corp.state.reread = reread;
      await advance(hour + 50 * minute);
      await expireLogins(cast.house.ctx);
      expect(await verify(token)).not.toBeNull();
    }
  });
});

it('a session is refreshed later when the key of its tokens cannot be read at the moment', async () => {
  const { ctx } = cast.house;
  await signIn(corp, approver, renewing);
  await advance(110 * minute);
  const find = () => Promise.reject(new AccessError('unavailable', 'Try again in a moment'));
  const keyring = { current: 'newer', secrets: new Map(), find };
  expect(await refreshSessions({ ...ctx, keyring })).toBe(0);
  await advance(5 * minute);
  expect(await refreshSessions(ctx)).toBe(1);
  expect(await rows('sessions')).toMatchObject([{ version: 2 }]);
});

describe('an approver who was removed from the group at the provider', () => {
  /** Makes a request of Ada that waits for one of the approvers. */
  async function ask(): Promise<string> {
    const { house, ada } = cast;
    const asked = await requestElevation(ada, { role: 'reader', reason: 'a look', duration: 'PT1H' });
    await house.work();
    return asked.output.execution_id;
  }
  const approve = async (actor: UserActor, id: string) =>
    decideApproval(withActor(cast.house.ctx, actor), { id, verdict: 'approve', via: 'api' });
  const actorOf = async (token: string) => {
    const verified = await verify(token);
    if (!verified) throw new Error('not signed in');
    return verified.actor;
  };

  it.each([
    ['with a refresh token', renewing],
    ['with an access token alone', passing],
  ])('cannot approve here a quarter of an hour later, %s', async (_how, tokens) => {
    const id = await ask();
    const token = await signIn(corp, approver, tokens);
    expect((await actorOf(token)).groups).toEqual(['approvers']);
    corp.state.person = { ...approver, groups: [] };
    await advance(15 * minute + second);
    const actor = await actorOf(token);
    expect(actor.groups).toEqual([]);
    await expect(approve(actor, id)).rejects.toMatchObject({ code: 'not_found' });
    expect((await rows('ledger')).filter(({ type }) => type === 'groups.changed')).toHaveLength(1);
  });

  it('cannot approve while the provider does not answer, and can still look', async () => {
    const id = await ask();
    const token = await signIn(corp, approver, passing);
    corp.state.reread = 'is down';
    await advance(16 * minute);
    const actor = await actorOf(token);
    expect(actor).toMatchObject({ email: approver.email, stale: true });
    await expect(approve(actor, id)).rejects.toMatchObject({ code: 'unavailable' });
    const asks = requestElevation(withActor(cast.house.ctx, actor), { role: 'reader', reason: 'x' });
    await expect(asks).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('can approve as long as their provider has no way to tell, which is said in the guide', async () => {
    const id = await ask();
    const token = await signIn(corp, approver, passing);
    corp.state.reread = 'is silent';
    await advance(16 * minute);
    expect(await approve(await actorOf(token), id)).toMatchObject({ execution_id: id });
  });

  it('keeps no request waiting for a provider that hangs, and has it asked once', async () => {
    const token = await signIn(corp, approver, passing);
    let release = () => {};
    corp.state.hold = new Promise((resolve) => {
      release = resolve;
    });
    await advance(16 * minute);
    const begun = Date.now();
    const actors = await Promise.all(Array.from({ length: 20 }, () => actorOf(token)));
    expect(Date.now() - begun).toBeLessThan(20_000);
    expect(actors.every(({ stale }) => stale === true)).toBe(true);
    expect(corp.state.reads).toBe(1);
    release();
    await expect.poll(async () => (await actorOf(token)).stale, { timeout: 30_000 }).toBeUndefined();
  });

  it('is read beside the requests before it is too old, so that none waits', async () => {
    const token = await signIn(corp, approver, passing);
    corp.state.person = { ...approver, groups: ['engineers'] };
    await advance(11 * minute);
    expect((await actorOf(token)).groups).toEqual(['approvers']);
    await expect.poll(async () => (await actorOf(token)).groups, { timeout: 30_000 }).toEqual(['engineers']);
  });

  it('keeps what an operator gave them: a token made here does not hang on the provider', async () => {
    await signIn(corp, approver, passing);
    const made = await createToken(cast.house.operator(), { user: approver.email, ttl: 'P2D' });
    corp.state.reread = 'refuses';
    corp.state.refresh = 'refuses';
    await advance(day);
    expect(await verify(made.token)).toMatchObject({ kind: 'token' });
  });
});
