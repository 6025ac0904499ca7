import { decideApproval, getExecution, listAccess, listInbox } from '@belay/core';
import { approvalCatalog, createHouse } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
import { access, ask, type Cast, hour, minute, openCast, second } from './support/stories.js';

const me = 'ada@example.com';
/** The clock of the provider stands still, so that an operation ends only when the test ends it. */
const operation = { kind: 'operation', delayMilliseconds: 1 } as const;

describe('a provider that works asynchronously', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async () => {
    cast = await openCast();
    return cast;
  };
  const told = async () => {
    const rows = await (cast as Cast).house.database
      .sql`select type from ledger where type like 'entitlement.%' order by seq`;
    return rows.map(({ type }) => type);
  };
  const grantOf = async (id: string) => (await getExecution((cast as Cast).ada, { id })).grants[0];
  const failures = async () => {
    const [row] = await (cast as Cast).house.database.sql`select failures, last_error, pending from entitlements`;
    return row;
  };

  it('is waited for while it grants: no failure is counted or told, and the wait is told once', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', operation);
    const id = await ask(house, ada, { workflow: 'automatic' });
    for (let poll = 0; poll < 5; poll += 1) await house.pass(5 * second);
    expect(await grantOf(id)).toMatchObject({
      state: 'granting',
      last_error: null,
      pending: expect.stringContaining('still working'),
    });
    expect((await listAccess(ada)).access).toMatchObject([{ pending: expect.any(String) }]);
    expect(await failures()).toMatchObject({ failures: 0, last_error: null });
    expect(await told()).toEqual(['entitlement.grant_pending']);
    house.provider.land();
    await house.pass(5 * second);
    expect(await grantOf(id)).toMatchObject({ state: 'active', pending: null });
    expect(await told()).toEqual(['entitlement.grant_pending', 'entitlement.granted']);
  });

  it('is asked again within 5 seconds, or when it says', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', operation);
    await ask(house, ada, { workflow: 'automatic' });
    const asked = () => house.provider.count('ensurePresent');
    for (let poll = 0; poll < 4; poll += 1) {
      const before = asked();
      await house.pass(4 * second);
      expect(asked()).toBe(before);
      await house.pass(second);
      expect(asked()).toBe(before + 1);
    }
  });

  it('ends the grant when its operation fails', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', { ...operation, fails: true });
    const id = await ask(house, ada, { workflow: 'automatic' });
    house.provider.land();
    await house.pass(5 * second);
    expect(await grantOf(id)).toMatchObject({ ended_reason: 'failed' });
    await house.pass(hour);
    expect(house.provider.held()).toEqual([]);
    expect(await grantOf(id)).toMatchObject({ state: 'gone' });
  });

  it('is called again when its operation was cancelled', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', operation);
    const id = await ask(house, ada, { workflow: 'automatic' });
    house.provider.cancel(me, access);
    await house.pass(5 * second);
    expect(await grantOf(id)).toMatchObject({ state: 'active' });
  });

  it('is no longer waited for when the time for activation is over, and what it grants later is revoked', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', operation);
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.pass(89 * minute);
    expect(await grantOf(id)).toMatchObject({ state: 'granting' });
    await house.pass(2 * minute);
    expect(await grantOf(id)).toMatchObject({ state: 'ended' });
    // Longer than the quarantine: a revocation does not settle while the operation is in progress.
    await house.pass(hour);
    expect(await grantOf(id)).toMatchObject({ state: 'ended' });
    house.provider.land();
    expect(house.provider.holds(me, access)).toBe(true);
    await house.pass(15 * second);
    expect(house.provider.holds(me, access)).toBe(false);
    await house.pass(hour);
    expect(await grantOf(id)).toMatchObject({ state: 'gone' });
  });

  it('is waited for while it revokes: the access counts as held until it is read as gone', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    house.provider.inject('ensureAbsent', operation);
    await house.pass(31 * minute);
    expect(await grantOf(id)).toMatchObject({ state: 'ended', pending: expect.any(String), last_error: null });
    expect(await told()).toEqual(['entitlement.granted', 'entitlement.revoke_pending']);
    // Repeated without end, within the time after which a revocation is overdue.
    const asked = house.provider.count('ensureAbsent');
    await house.pass(15 * second);
    expect(house.provider.count('ensureAbsent')).toBeGreaterThan(asked);
    house.provider.land();
    await house.pass(15 * second);
    expect(await grantOf(id)).toMatchObject({ state: 'gone', pending: null });
  });

  it('settles no observation: standing access is not taken over while it changes (R2)', async () => {
    const { house, ada } = await open();
    house.provider.put(me, access);
    const change = () => house.provider.put(me, access);
    house.provider.begin(me, access, { task: 'grant', at: 1, fails: false, change });
    const id = await ask(house, ada, { workflow: 'automatic' });
    expect(house.provider.count('ensurePresent')).toBe(0);
    expect((await getExecution(ada, { id })).waiting_for?.join()).toContain('the provider');
    house.provider.land();
    await house.pass(5 * second);
    expect((await getExecution(ada, { id })).status).toBe('faulted');
    expect(house.provider.count('ensurePresent')).toBe(0);
  });
});

/** Returns a catalog whose provider has this configuration, and whose role has these settings. */
function catalogWith(config: object, role: object = {}): object {
  const catalog = approvalCatalog({ role }) as { providers: { memory: object } };
  return { ...catalog, providers: { memory: { ...catalog.providers.memory, config } } };
}

describe('what a connector says of an access', () => {
  it('is shown for this access: how long it can outlive its end, and that the provider ends it by itself', async () => {
    const config = { residual: 'PT12H', residuals: { read: 'PT1H' }, expiry: { minimum: 'PT5M', step: 'PT1M' } };
    await using house = await createHouse({ catalog: catalogWith(config) });
    const ada = await house.person('ada', ['engineers']);
    const grace = await house.person('grace', ['approvers']);
    const id = await ask(house, ada, {});
    const [item] = (await listInbox(grace)).approvals;
    expect(item?.grants).toMatchObject([{ residual: 'PT1H', native_expiry: { step: 'PT1M' } }]);
    await decideApproval(grace, { id, verdict: 'approve', via: 'api' });
    await house.work();
    expect((await listAccess(ada)).access).toMatchObject([{ residual: 'PT1H' }]);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ residual: 'PT1H' }]);
  });

  it('rejects roles that can only be held for less than the provider grants', async () => {
    await using house = await createHouse();
    const expiry = { expiry: { minimum: 'PT5M' } };
    const apply = (role: object) => house.applyCatalog(catalogWith(expiry, role));
    await expect(apply({ max_duration: 'PT3M', default_duration: 'PT3M' })).rejects.toMatchObject({
      issues: [{ path: 'roles.reader.max_duration', message: 'must be at least PT5M, which "memory" requires' }],
    });
    await expect(apply({ default_duration: 'PT3M' })).rejects.toMatchObject({
      issues: [{ path: 'roles.reader.default_duration', message: expect.stringContaining('PT5M') }],
    });
    await apply({ max_duration: 'PT5M', default_duration: 'PT5M' });
  });

  it('rejects requests that are shorter', async () => {
    await using house = await createHouse({ catalog: catalogWith({ expiry: { minimum: 'PT5M' } }) });
    const ada = await house.person('ada', ['engineers']);
    await expect(ask(house, ada, { workflow: 'automatic', duration: 'PT3M' })).rejects.toMatchObject({
      issues: [{ path: 'duration', message: expect.stringContaining('PT5M') }],
    });
  });
});

describe('a person whose account is found by a linked sign-in', () => {
  it('is granted access under the subject of that sign-in', async () => {
    await using house = await createHouse({ catalog: catalogWith({ identity: { login: 'login' } }) });
    house.provider.options.people = [{ id: 'ada', name: 'Ada', email: 'a@elsewhere.example' }];
    const ada = await house.person('ada', ['engineers']);
    const id = await ask(house, ada, { workflow: 'automatic' });
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ identity: 'ada', state: 'active' }]);
  });

  it('has no account where no sign-in is linked', async () => {
    await using house = await createHouse({ catalog: catalogWith({ identity: { login: 'elsewhere' } }) });
    const ada = await house.person('ada', ['engineers']);
    await expect(ask(house, ada, { workflow: 'automatic' })).rejects.toMatchObject({
      issues: [{ path: 'identities', message: expect.stringContaining('no identity') }],
    });
  });
});
