import {
  createLogin,
  createToken,
  decideDeviceLogin,
  listTokens,
  pollDeviceLogin,
  revokeToken,
  startDeviceLogin,
  stopUser,
  verifyLogin,
  withActor,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { heldBeforeCommit, someoneWaits } from './support/gate.js';
import {
  access,
  approve,
  ask,
  type Cast,
  catalogWith,
  openCast,
  request,
  statusOf,
  together,
} from './support/stories.js';

let cast: Cast;
const grantOnly = [{ grant: { call: 'access.grant' } }];
beforeEach(async () => {
  cast = await openCast({
    catalog: catalogWith(
      { brief: grantOnly },
      { permissions: { groups: ['engineers'], delegates: { groups: ['engineers'] } } },
    ),
  });
});
afterEach(() => cast[Symbol.asyncDispose]());

const stop = (user = 'ada@example.com') => stopUser(cast.house.operator(), { user, reason: 'left the company' });
const holds = (name = 'ada') => cast.house.provider.holds(`${name}@example.com`, access);

describe('belay user stop', () => {
  it('rejects a decision of theirs that was on its way, held up by the provider that is asked who they are', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    await stop('grace@example.com');
    // Her login was verified before it ended.
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'unauthenticated' });
    await house.work();
    expect([await statusOf(ada, id), await holds()]).toEqual(['waiting', false]);
  });

  it('ends logins, tokens, open requests and access in one transaction, with the operator as actor', async () => {
    const { house, ada, grace } = cast;
    const { sql } = house.database;
    const granted = await ask(house, ada, { workflow: 'automatic' });
    const over = await ask(house, ada, { workflow: 'brief' });
    const waiting = await ask(house, ada);
    expect([await holds(), await statusOf(ada, over)]).toEqual([true, 'completed']);
    const browser = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const device = await createLogin(house.ctx, { user: ada.actor, kind: 'device' });
    await sql`insert into user_identities (provider, subject, user_id, email, name, groups)
      values ('hub', 'a-2', ${ada.actor.id}, 'ada@example.org', 'Ada', '[]')`;
    const second = { ...ada.actor, provider: 'hub', subject: 'a-2', email: 'ada@example.org' };
    const other = await createLogin(house.ctx, { user: second, kind: 'browser' });
    const colleague = await createLogin(house.ctx, { user: grace.actor, kind: 'browser' });

    const stopped = await stop('  ADA@example.com ');
    expect(stopped).toMatchObject({ logins: 3, tokens: 1, access: [over] });
    expect([...stopped.requests].sort()).toEqual([granted, waiting].sort());
    for (const { token } of [browser, device, other]) expect(await verifyLogin(house.ctx, { token })).toBeNull();
    expect(await verifyLogin(house.ctx, { token: colleague.token })).not.toBeNull();
    expect([await statusOf(ada, granted), await statusOf(ada, waiting)]).toEqual(['terminated', 'terminated']);
    await expect(approve(grace, waiting)).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect(await holds()).toBe(false);

    const told = await sql<{ type: string; actor: { kind: string } }[]>`
      select type, actor from ledger where user_id = ${ada.actor.id} and actor->>'kind' = 'operator' order by seq`;
    const types = told.map(({ type }) => type);
    expect(types.filter((type) => type === 'login.ended')).toHaveLength(3);
    expect(types.filter((type) => type === 'execution.terminated')).toHaveLength(2);
    expect(types.filter((type) => type === 'grant.ended')).toHaveLength(2);
    expect(types).toEqual(expect.arrayContaining(['user.stopped', 'token.revoked']));
    const [entry] = await sql`select level, message, data from ledger where type = 'user.stopped'`;
    expect(entry).toMatchObject({
      level: 'warning',
      message: 'An operator stopped ada@example.com: left the company',
      data: { reason: 'left the company', logins: 3, tokens: 1 },
    });
    expect(await stop()).toMatchObject({ logins: 0, tokens: 0, requests: [], access: [] });
  });

  it('ends what colleagues requested for the person, and nothing else of theirs', async () => {
    const { house, ada, alan } = cast;
    const held = await ask(house, alan, { workflow: 'brief', identities: ['ada@example.com', 'grace@example.com'] });
    const waiting = await ask(house, alan, { identities: ['ada@example.com'] });
    const own = await ask(house, alan);
    expect([await holds(), await holds('grace')]).toEqual([true, true]);
    expect(await stop()).toMatchObject({ requests: [waiting], access: [held] });
    await house.work();
    expect([await holds(), await holds('grace')]).toEqual([false, true]);
    expect(await statusOf(alan, own)).toBe('waiting');
    expect(await verifyLogin(house.ctx, { token: 'x'.repeat(43) })).toBeNull();
    await expect(request(ada)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(request(alan)).resolves.toBeTruthy();
  });

  it('leaves decisions as they were made', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    await approve(grace, id);
    await stop('grace@example.com');
    await house.work();
    expect(await holds()).toBe(true);
  });

  it('ends a request that is being submitted in that very moment', async () => {
    const { house, ada } = cast;
    const submitting = heldBeforeCommit(ada);
    // With a key, the request reads the results of its statements before it commits; otherwise COMMIT is sent together
    // with them.
    const submitted = request(submitting.ctx, { workflow: 'automatic', idempotencyKey: 'one' });
    await submitting.reached;
    const stopping = stop();
    await someoneWaits(house);
    submitting.open();
    const [id, stopped] = await Promise.all([submitted, stopping]);
    expect(stopped.requests).toEqual([id]);
    await house.work();
    expect([await statusOf(ada, id), await holds()]).toEqual(['terminated', false]);
  });

  it('rejects a request that was authenticated before and comes to its commit afterwards', async () => {
    const { house, ada } = cast;
    const stopping = heldBeforeCommit(house.operator());
    const stopped = stopUser(stopping.ctx, { user: 'ada@example.com', reason: 'left' });
    await stopping.reached;
    const submitted = together([request(ada, { workflow: 'automatic' })]);
    await someoneWaits(house);
    stopping.open();
    await stopped;
    expect(await submitted).toEqual(['unauthenticated']);
    const [row] = await house.database.sql`select count(*)::int as count from executions`;
    expect(row).toEqual({ count: 0 });
  });

  it('leaves no login behind, nor access, with anything that the person does at the same moment', async () => {
    const { house, ada } = cast;
    const { sql } = house.database;
    for (let round = 0; round < 20; round += 1) {
      const { loginId } = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
      const now = withActor(house.ctx, { ...ada.actor, loginId });
      const { device_code, user_code } = await startDeviceLogin(house.ctx, { label: 'a laptop' });
      await decideDeviceLogin(now, { user_code, verdict: 'approve' });
      const running = await ask(house, now, { workflow: 'automatic' });
      const results = await together([
        pollDeviceLogin(house.ctx, { device_code }),
        request(now, { workflow: 'automatic' }),
        stop(),
        request(now),
        house.work(),
      ]);
      expect(results[2]).toBe('ok');
      expect([...(await sql`select id from logins where user_id = ${ada.actor.id}`)]).toEqual([]);
      expect([...(await sql`select id from executions where ended_at is null`)]).toEqual([]);
      await house.work();
      expect([await statusOf(ada, running), await holds()]).toEqual(['terminated', false]);
    }
  });

  it('is for operators, with a reason, and for people who are known', async () => {
    const { house, ada } = cast;
    await expect(stopUser(ada, { user: 'grace@example.com', reason: 'x' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(stopUser(house.operator(), { user: 'ada@example.com', reason: ' ' })).rejects.toMatchObject({
      code: 'invalid',
    });
    await expect(stop('ghost@example.com')).rejects.toMatchObject({ code: 'not_found' });
    await expect(stop('%')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('tokens', () => {
  it('are listed without their secret, and end when they are revoked, with a line in the ledger', async () => {
    const { house, grace } = cast;
    const operator = house.operator();
    const kept = await createToken(operator, { user: 'robot@example.com', ttl: 'PT1H', label: 'nightly' });
    const gone = await createToken(operator, { user: 'robot@example.com', ttl: 'PT2H' });
    const listed = await listTokens(operator, { user: 'Robot@example.com' });
    expect(listed).toMatchObject([
      { user: { email: 'robot@example.com' }, label: 'nightly', expires_at: kept.expires_at },
      { label: null, expires_at: gone.expires_at },
    ]);
    expect(JSON.stringify(listed)).not.toContain(kept.token);
    const id = listed[1]?.id ?? '';
    expect(await revokeToken(operator, { id })).toEqual({ message: 'The token of robot@example.com is revoked', id });
    expect(await verifyLogin(house.ctx, { token: gone.token })).toBeNull();
    expect(await verifyLogin(house.ctx, { token: kept.token })).not.toBeNull();
    expect(await listTokens(operator, { user: 'robot@example.com' })).toHaveLength(1);
    const [entry] = await house.database.sql`select level, actor, data from ledger where type = 'token.revoked'`;
    expect(entry).toMatchObject({
      level: 'warning',
      actor: { kind: 'operator', name: 'test' },
      data: { login_id: id },
    });

    await expect(revokeToken(operator, { id })).rejects.toMatchObject({ code: 'not_found' });
    await expect(revokeToken(operator, { id: 'x' })).rejects.toMatchObject({ code: 'not_found' });
    const { loginId } = await createLogin(house.ctx, { user: grace.actor, kind: 'browser' });
    await expect(revokeToken(operator, { id: loginId })).rejects.toMatchObject({ code: 'not_found' });
    for (const attempt of [listTokens(grace, {}), revokeToken(grace, { id: listed[0]?.id ?? '' })]) {
      await expect(attempt).rejects.toMatchObject({ code: 'forbidden' });
    }
    await house.database.advance(61 * 60_000);
    expect(await listTokens(operator, { user: 'robot@example.com' })).toEqual([]);
  });
});
