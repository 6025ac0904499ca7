import { beginRestore, compareRestored, createToken, skipProvider, timing, withActor } from '@belay/core';
import { createClient } from '@belay/sdk';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const reason = 'restored to 09:00';
let world: World;
let admin: ReturnType<typeof createClient>['admin'];
const adminOf = async (person: 'requester' | 'approver' | 'bystander') =>
  createClient({ url: world.url, token: await world.token(person, 'device') }).admin;

beforeAll(async () => {
  const access = { administrators: { groups: ['approvers'] }, auditors: { users: ['bo@example.test'] } };
  world = await createWorld({ change: (document) => ({ ...document, access }) });
  admin = await adminOf('approver');
});
afterAll(() => world[Symbol.asyncDispose]());

/** Compares as a worker does when earlier calls have ended. There were none here, so the lease is 0. */
const compare = () =>
  compareRestored({ ...world.context, timing: { ...timing, lease: 0 } }, AbortSignal.timeout(20_000));

/** An operator on the machine, who needs no other person to skip a provider. */
const operator = () => withActor(world.context, { kind: 'operator', name: 'test' });
const skipAll = async () => {
  for (const { provider } of (await admin.getRestore()).providers) await skipProvider(operator(), { provider, reason });
};

describe('a restore, by REST and the SDK', () => {
  it('is begun, compared, decided about and ended by an administrator, with each step in the audit log', async () => {
    expect(await admin.getRestore()).toMatchObject({ closed_since: null, providers: [], leftovers: [] });
    world.store.put('rita@example.test', { role: 'read' }, 'the mark of another Belay');
    world.store.put('adam@example.test', { role: 'read' }, 'the mark of another Belay');
    world.store.put('alan@example.test', { role: 'read' }, 'the mark of another Belay');
    await admin.beginRestore({ reason });
    await expect(admin.openRestore()).rejects.toMatchObject({ code: 'conflict' });
    await compare();
    const { leftovers, closed_since, providers } = await admin.getRestore();
    expect(closed_since).toEqual(expect.any(String));
    expect(providers).toContainEqual({ provider: 'store', status: 'compared', note: null });
    await expect(admin.openRestore()).rejects.toMatchObject({ code: 'conflict' });
    // Two providers of the configuration use the same store, where each of these is one access.
    expect(leftovers.map(({ identity }) => identity).sort()).toEqual([
      'adam@example.test',
      'alan@example.test',
      'rita@example.test',
    ]);
    for (const { id, identity } of leftovers) {
      // An administrator cannot keep their own access.
      const own = identity === 'adam@example.test';
      if (own)
        await expect(admin.answerLeftover({ id, answer: 'keep', reason })).rejects.toMatchObject({ code: 'forbidden' });
      await admin.answerLeftover({ id, answer: identity === 'alan@example.test' ? 'keep' : 'revoke', reason });
    }
    expect(await admin.openRestore()).toMatchObject({ status: 'ok' });
    expect(await admin.getRestore()).toMatchObject({ closed_since: null });
    await world.drive();
    const holds = (who: string) => world.store.holds(who, { role: 'read' });
    expect(['rita@example.test', 'adam@example.test', 'alan@example.test'].map(holds)).toEqual([false, false, true]);
    const { logs } = await admin.listLogs();
    const types = logs.map(({ type }) => type).filter((type) => type.startsWith('restore.'));
    expect([types.at(0), types.at(-1), types.length]).toEqual(['restore.ended', 'restore.begun', 5]);
    expect(types.filter((type) => type === 'restore.revoked')).toHaveLength(2);
  });

  it('ends what people were signed in with at the backup, but the login of who begins it, and no token', async () => {
    // An administrator can begin once in 24 hours.
    await expect(admin.beginRestore({ reason })).rejects.toMatchObject({ code: 'conflict' });
    await world.database.sql`update restores set begun_by = '{}'`;
    const signedIn = [
      await world.token('requester', 'browser'),
      await world.token('bystander', 'device'),
      (await createToken(operator(), { user: people.bystander.email, ttl: 'PT1H' })).token,
    ];
    const statuses = async () => {
      const answers = await Promise.all(signedIn.map((token) => callRest(world.url, 'GET', '/auth/whoami', { token })));
      return answers.map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 200, 200]);
    await admin.beginRestore({ reason });
    expect(await statuses()).toEqual([401, 401, 200]);
    expect(await admin.getRestore()).toMatchObject({ closed_since: expect.any(String) });
    const [ended, begun] = (await admin.listLogs()).logs;
    expect([ended, begun]).toMatchObject([
      { type: 'login.ended', data: { logins: expect.any(Number) } },
      { type: 'restore.begun' },
    ]);
    await skipAll();
    await admin.openRestore();
  });

  it('skips a provider by its name, when its comparison failed and a second administrator agrees', async () => {
    await beginRestore(operator(), { reason });
    // The begin ended the administrator's login as well.
    admin = await adminOf('approver');
    await expect(admin.skipProvider({ provider: 'nowhere', reason })).rejects.toMatchObject({ code: 'not_found' });
    await expect(admin.skipProvider({ provider: 'store', reason })).rejects.toMatchObject({ code: 'conflict' });
    world.store.down = true;
    await compare();
    world.store.down = false;
    expect((await admin.skipProvider({ provider: 'store', reason })).message).toMatch(/another administrator/);
    const { providers } = await admin.getRestore();
    expect(providers.find(({ provider }) => provider === 'store')).toMatchObject({
      status: 'failed',
      skip: { reason },
    });
    await expect(admin.openRestore()).rejects.toMatchObject({ code: 'conflict' });
    for (const { provider, status } of providers)
      if (provider !== 'store' && status !== 'compared') await skipProvider(operator(), { provider, reason });
    await skipProvider(operator(), { provider: 'store', reason });
    expect(await admin.openRestore()).toMatchObject({ status: 'ok' });
  });

  it('is read by an auditor, who may not act, and by no other person', async () => {
    const auditor = await adminOf('bystander');
    expect(await auditor.getRestore()).toMatchObject({ closed_since: null });
    const requester = await adminOf('requester');
    await expect(requester.getRestore()).rejects.toMatchObject({ code: 'forbidden' });
    for (const client of [auditor, requester]) {
      for (const act of [
        () => client.beginRestore({ reason }),
        () => client.openRestore(),
        () => client.skipProvider({ provider: 'store', reason }),
        () => client.answerLeftover({ id: '00000000-0000-4000-8000-000000000000', answer: 'keep', reason }),
      ]) {
        await expect(act()).rejects.toMatchObject({ code: 'forbidden' });
      }
    }
    await expect(admin.beginRestore({ reason: ' ' })).rejects.toMatchObject({ code: 'invalid' });
    expect(await admin.getRestore()).toMatchObject({ closed_since: null });
  });
});
