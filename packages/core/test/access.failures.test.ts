import { getExecution, reconcileEntitlement, returnAccess } from '@belay/core';
import { performStep, TURN } from '@belay/engine';
import type { MemoryFault } from '@belay/providers/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gateOf } from './support/gate.js';
import { access, ask, type Cast, minute, openCast, request, second } from './support/stories.js';

describe('a call that failed', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const hotId = async () => (await cast.house.database.sql`select id from entitlements`)[0]?.id as string;
  const revokes = () => cast.house.provider.count('ensureAbsent');
  const told = async () => {
    const [row] = await cast.house.database
      .sql`select count(*)::int as times from ledger where type = 'entitlement.revoke_failed'`;
    return row?.times as number;
  };

  it.each<[string, MemoryFault]>([
    ['a provider that fails', { kind: 'conflict' }],
    ['a provider that wishes for an hour', { kind: 'throttle', afterMilliseconds: 60 * minute }],
    ['a provider that rejects for good', { kind: 'refuse' }],
  ])('of an overdue revocation is repeated within 15 seconds, for ever: %s', async (_, fault) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    house.provider.inject('ensureAbsent', fault, 1_000);
    await returnAccess(ada, { execution_id: id });
    await house.work();
    for (let times = 1; times < 40; times += 1) {
      expect(revokes()).toBeGreaterThanOrEqual(times);
      await house.pass(15 * second);
    }
    expect(holds()).toBe(true);
    // The ledger records the first failures and then one in twenty, so that a provider that is gone does not fill it.
    expect(await told()).toBeLessThan(15);
    expect(await told()).toBeGreaterThan(10);
    while (house.provider.take({ operation: 'ensureAbsent' })) continue;
    await house.pass(15 * second);
    expect(holds()).toBe(false);
  });

  it('of the second revocation, when the access is gone, is repeated less often', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(holds()).toBe(false);
    house.provider.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    const before = revokes();
    for (let times = 0; times < 240; times += 1) await house.pass(15 * second);
    expect(revokes() - before).toBeGreaterThan(5);
    expect(revokes() - before).toBeLessThan(25);
  });

  it('is repeated at once when it waited in vain while the system answered others: its connection was lost', async () => {
    const { house, ada, alan } = cast;
    const mine = await ask(house, ada, { workflow: 'automatic' });
    const hers = await hotId();
    const his = await ask(house, alan, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: mine });
    await returnAccess(alan, { execution_id: his });
    const gate = gateOf(house, 'ensureAbsent');
    let now = house.ctx.clock().getTime();
    const ctx = { ...gate.ctx, clock: () => new Date(now) };
    const lost = reconcileEntitlement(ctx, { entitlementId: hers });
    await gate.reached;
    now += 7 * second;
    const [other] = await house.database.sql`select id from entitlements where id <> ${hers}`;
    await reconcileEntitlement(ctx, { entitlementId: other?.id as string });
    house.provider.inject('ensureAbsent', { kind: 'conflict' });
    gate.open();
    await lost;
    expect(await told()).toBe(1);
    expect(holds()).toBe(true);
    await house.work();
    expect(holds()).toBe(false);
  });

  it('of an execution is repeated at once as well when its connection was lost, the first time', async () => {
    const { house, ada, alan } = cast;
    const his = await ask(house, alan, { workflow: 'automatic' });
    await returnAccess(alan, { execution_id: his });
    const [other] = await house.database.sql`select id from entitlements`;
    const id = await request(ada, { workflow: 'automatic' });
    const gate = gateOf(house, 'holds');
    let now = house.ctx.clock().getTime();
    const ctx = { ...gate.ctx, clock: () => new Date(now) };
    const lost = performStep(ctx, { executionId: id, key: TURN });
    await gate.reached;
    now += 7 * second;
    await reconcileEntitlement(ctx, { entitlementId: other?.id as string });
    house.provider.inject('holds', { kind: 'conflict' });
    gate.open();
    await lost;
    expect(holds()).toBe(false);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('is repeated when the system answers after it, when it had waited and nothing was heard meanwhile', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: id });
    const gate = gateOf(house, 'ensureAbsent');
    let now = house.ctx.clock().getTime();
    const ctx = { ...gate.ctx, clock: () => new Date(now) };
    const lost = reconcileEntitlement(ctx, { entitlementId: await hotId() });
    await gate.reached;
    now += 7 * second;
    house.provider.inject('ensureAbsent', { kind: 'conflict' });
    gate.open();
    await lost;
    await house.work();
    expect(holds()).toBe(true);
    now += second;
    // The next check of the provider, a second later, gets a response.
    await vi.waitFor(
      async () => {
        await house.work();
        expect(holds()).toBe(false);
      },
      { timeout: 10 * second },
    );
    expect(revokes()).toBe(2);
  });

  it('does not settle a revocation when the clock was set back during it, so that the access has time left again', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(30 * minute + 1);
    const gate = gateOf(house, 'ensureAbsent', 'after');
    const revoking = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    expect(holds()).toBe(false);
    await house.database.advance(-5 * second);
    gate.open();
    await revoking;
    await house.work();
    expect([holds(), (await getExecution(ada, { id })).state]).toEqual([true, 'active']);
    await house.pass(6 * second);
    expect([holds(), (await getExecution(ada, { id })).state]).toEqual([false, 'ended']);
  });

  it('does not hide that the last grant ended while it was in progress: the access is revoked at once', async () => {
    const { house, ada } = cast;
    const first = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    const second = await ask(house, ada, { workflow: 'automatic', duration: 'PT2H' });
    await house.database.advance(minute);
    house.provider.inject('ensurePresent', { kind: 'throttle', afterMilliseconds: minute });
    const gate = gateOf(house, 'ensurePresent');
    const extending = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    await returnAccess(ada, { execution_id: first });
    await returnAccess(ada, { execution_id: second });
    gate.open();
    await extending;
    await house.work();
    expect(holds()).toBe(false);
  });

  it('does not keep an intent waiting that came while it revoked', async () => {
    const { house, ada } = cast;
    const first = await ask(house, ada, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: first });
    house.provider.inject('ensureAbsent', { kind: 'throttle', afterMilliseconds: minute });
    const gate = gateOf(house, 'ensureAbsent');
    const revoking = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    const second = await ask(house, ada, { workflow: 'automatic' });
    gate.open();
    await revoking;
    await house.work();
    expect((await getExecution(ada, { id: second })).grants).toMatchObject([{ state: 'active' }]);
  });
});
