import {
  type ActorContext,
  cancelExecution,
  compileCatalog,
  createLogin,
  createSignal,
  createToken,
  getExecution,
  listInbox,
  readWhoami,
  returnAccess,
  revokeAccess,
  terminateExecution,
  verifyLogin,
  withActor,
} from '@belay/core';
import { withLogin } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, catalogWith, openCast, statusOf } from './support/stories.js';

let cast: Cast;
const base = catalogWith({});
const overseenBy = (access: object) => ({ ...base, access });
const apply = (access: object) => cast.house.applyCatalog(overseenBy(access));
const oversight = async (ctx: ActorContext) => (await readWhoami(ctx)).oversight;
beforeEach(async () => {
  cast = await openCast({ catalog: base });
});
afterEach(() => cast[Symbol.asyncDispose]());

describe('administrators and auditors', () => {
  it('are no one without the key, and with it those whom it names by group or address', async () => {
    const { house } = cast;
    const ops = await house.person('olga', ['platform']);
    const audit = await house.person('otto', []);
    expect([await oversight(ops), await oversight(audit)]).toEqual([undefined, undefined]);
    await apply({
      administrators: { groups: ['platform'] },
      auditors: { users: ['otto@example.com'], groups: ['platform'] },
    });
    expect([await oversight(ops), await oversight(audit)]).toEqual(['administrator', 'auditor']);
    expect(await oversight(await house.person('other', ['platforms']))).toBeUndefined();
    await apply({ auditors: { groups: ['platform'] } });
    expect([await oversight(ops), await oversight(audit)]).toEqual(['auditor', undefined]);
  });

  it('count no group that the provider does not pass, and no address that it is not trusted for', async () => {
    const { house } = cast;
    const access = { administrators: { groups: ['platform'], users: ['olga@example.com'] } };
    const second = { provider: 'login', groups: { allow: ['engineers'] } };
    await house.applyCatalog({
      ...base,
      access,
      providers: { ...(base as { providers: object }).providers, second },
    });
    const olga = await house.person('olga', ['platform']);
    const { actor } = olga;
    expect(await oversight(olga)).toBe('administrator');
    const elsewhere = withActor(house.ctx, { ...actor, provider: 'second', groups: [] });
    expect(await oversight(elsewhere)).toBeUndefined();
  });

  it('lose it with the group that their login proves, at the next request', async () => {
    const { house } = cast;
    await apply({ administrators: { groups: ['platform'] } });
    const olga = await house.person('olga', ['platform']);
    const { token } = await createLogin(house.ctx, { user: olga.actor, kind: 'browser' });
    const seen = async () => {
      const login = await verifyLogin(house.ctx, { token });
      return login && oversight(withActor(house.ctx, login.actor));
    };
    expect(await seen()).toBe('administrator');
    await house.database.sql`update user_identities set groups = '[]' where subject = 'olga'`;
    expect(await seen()).toBeUndefined();
  });

  it('do not count a token unless the configuration names its owner for tokens, nor a person without a login', async () => {
    const { house } = cast;
    const access = { administrators: { groups: ['platform'], users: ['olga@example.com'] } };
    await apply(access);
    const olga = await house.person('olga', ['platform']);
    const { token } = await createToken(house.operator(), { user: 'olga@example.com', ttl: 'PT1H' });
    const login = await verifyLogin(house.ctx, { token });
    if (!login) throw new Error('no login');
    const byToken = withActor(house.ctx, login.actor);
    expect(await oversight(byToken)).toBeUndefined();
    await expect(revokeAccess(byToken, { user: 'olga@example.com', reason: 'left' })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('`tokens`; sign in'),
    });
    await apply({ administrators: access.administrators, auditors: { tokens: ['olga@example.com'] } });
    expect([await oversight(byToken), await oversight(olga)]).toEqual(['auditor', 'administrator']);
    const { by: _by, ...clicked } = olga.actor;
    expect(await oversight(withActor(house.ctx, clicked))).toBeUndefined();
  });

  it('do not count groups that are too old', async () => {
    await apply({ auditors: { groups: ['platform'] } });
    const olga = await cast.house.person('olga', ['platform']);
    expect(await oversight(withActor(cast.house.ctx, { ...olga.actor, stale: true }))).toBeUndefined();
  });

  it('see every request, and have no right to one: not to decide, end, signal or give it back', async () => {
    const { house, ada } = cast;
    await apply({ administrators: { groups: ['platform'] } });
    const olga = await house.person('olga', ['platform']);
    const id = await ask(house, ada);
    const seen = await getExecution(olga, { id });
    expect(seen.user).toBe('ada@example.com');
    expect((await listInbox(olga, {})).approvals).toEqual([]);
    const rejected = { code: 'not_found' };
    await expect(approve(olga, id)).rejects.toMatchObject(rejected);
    await expect(createSignal(olga, { id, type: 'belay.approval.decided' })).rejects.toMatchObject(rejected);
    for (const act of [
      () => cancelExecution(olga, { id }),
      () => terminateExecution(olga, { id }),
      () => returnAccess(olga, { execution_id: id }),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect(await statusOf(ada, id)).toBe('waiting');
  });

  it.each<[string, object, RegExp]>([
    ['an empty list', { administrators: {} }, /^access\.administrators: must name at least one .*remove the key/],
    ['an empty list', { auditors: { groups: [] } }, /^access\.auditors: must name at least one/],
    ['a key that is not there', { admins: { groups: ['a'] } }, /^access\.admins: is not a known key/],
    [
      'an address that can be read as another',
      { auditors: { users: ['rıta@example.com'] } },
      /^access\.auditors\.users\[0\]: is not an e-mail/,
    ],
  ])('are rejected in the configuration with %s', async (_what, access, issue) => {
    const { connectors } = cast.house;
    const result = await compileCatalog(withLogin(overseenBy(access)), { connectors, resolve: () => undefined });
    expect(result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      expect.stringMatching(issue),
    ]);
  });

  it('are warned of when no sign-in can prove them', async () => {
    const second = { provider: 'login', groups: { allow: ['engineers'] } };
    const document = withLogin({
      ...base,
      providers: { ...(base as { providers: object }).providers, login: { ...second }, second },
      access: { administrators: { groups: ['platform', 'engineers'], users: ['olga@elsewhere.example'] } },
    });
    const { connectors } = cast.house;
    const result = await compileCatalog(document, { connectors, resolve: () => undefined });
    expect(result.ok && result.catalog.warnings.map(({ path }) => path)).toEqual([
      'access.administrators.users[0]',
      'access.administrators.groups[0]',
    ]);
  });
});
