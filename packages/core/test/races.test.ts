import {
  cancelExecution,
  createLogin,
  getExecution,
  reconcileEntitlement,
  requestElevation,
  returnAccess,
  terminateExecution,
  upsertUser,
} from '@belay/core';
import { sweep } from '@belay/testkit/sweep';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  access,
  approve,
  ask,
  type Cast,
  catalogWith,
  deny,
  hour,
  minute,
  openCast,
  type Person,
  request,
  runOut,
  statusOf,
  together,
} from './support/stories.js';

describe('races', () => {
  let cast: Cast;
  let crowd: Person[];
  beforeAll(async () => {
    cast = await openCast({ catalog: catalogWith({}) });
    crowd = await Promise.all(
      Array.from({ length: 20 }, (_, index) => cast.house.person(`approver${index}`, ['approvers'])),
    );
  });
  afterAll(() => cast[Symbol.asyncDispose]());
  beforeEach(async () => {
    await cast.house.applyCatalog(catalogWith({}));
    await runOut(cast.house);
    expect(cast.house.provider.held()).toEqual([]);
  });
  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const grantsOf = async (id: string) => (await getExecution(cast.ada, { id })).grants;

  it('100 approvals at once come to one decision and one grant', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada);
    const results = await together(
      Array.from({ length: 100 }, (_, index) => approve(crowd[index % crowd.length] as Person, id)),
    );
    expect(results.filter((result) => result === 'ok')).toHaveLength(1);
    expect(new Set(results)).toEqual(new Set(['ok', 'conflict']));
    await house.work();
    expect(await grantsOf(id)).toMatchObject([{ state: 'active' }]);
    const [counted] = await house.database.sql`select
      (select count(*)::int from ledger where execution_id = ${id} and type = 'approval.approved') as approved,
      (select count(*)::int from grants where execution_id = ${id}) as grants`;
    expect(counted).toEqual({ approved: 1, grants: 1 });
  });

  it('100 requests with one Idempotency-Key are one execution', async () => {
    const asking = { role: 'reader', reason: 'a ticket', workflow: 'automatic', idempotencyKey: 'the key' };
    const answers = await Promise.all(Array.from({ length: 100 }, () => requestElevation(cast.ada, asking)));
    expect(new Set(answers.map(({ output }) => output.execution_id)).size).toBe(1);
    const [counted] = await cast.house.database
      .sql`select count(*)::int as running from executions where ended_at is null`;
    expect(counted?.running).toBe(1);
  });

  it.each([
    ['cancel', (cast: Cast, id: string) => cancelExecution(cast.ada, { id }), 'cancelled'],
    ['terminate', (cast: Cast, id: string) => terminateExecution(cast.ada, { id }), 'terminated'],
  ] as const)('an approval that races %s never leaves access behind', async (_name, end, status) => {
    const { house, ada, grace } = cast;
    for (let round = 0; round < 5; round += 1) {
      const id = await ask(house, ada);
      const [approved, ended] = await together(
        round % 2 ? [approve(grace, id), end(cast, id)] : [end(cast, id), approve(grace, id)].reverse(),
      );
      expect(ended).toBe('ok');
      expect(['ok', 'conflict', 'not_found']).toContain(approved);
      await house.work();
      expect(await statusOf(ada, id)).toBe(status);
      expect(holds()).toBe(false);
    }
  });

  it('cancelling, terminating and working at once end an execution once', async () => {
    const { house, ada } = cast;
    for (let round = 0; round < 5; round += 1) {
      const id = await request(ada, { workflow: 'automatic' });
      const results = await together([
        cancelExecution(ada, { id }),
        terminateExecution(ada, { id }),
        house.work(),
        terminateExecution(ada, { id }),
      ]);
      expect(results.filter((result, index) => index !== 2 && result === 'ok')).toHaveLength(1);
      await house.work();
      expect(holds()).toBe(false);
      expect(['cancelled', 'terminated']).toContain(await statusOf(ada, id));
    }
  });

  it('an approval at the very moment the time is over is rejected', async () => {
    const { house, ada, grace, alan } = cast;
    const id = await ask(house, ada);
    await house.database.advance(24 * hour);
    expect(await together([approve(grace, id), house.work(), approve(alan, id)])).toEqual([
      'conflict',
      'ok',
      'conflict',
    ]);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: { approved: false } });
  });

  it('approve against deny: one of them decides', async () => {
    const { house, ada, grace, alan } = cast;
    for (let round = 0; round < 5; round += 1) {
      const id = await ask(house, ada);
      const [yes, no] = await together([approve(grace, id), deny(alan, id)]);
      expect([yes, no].sort()).toEqual(['conflict', 'ok']);
      await house.work();
      expect((await grantsOf(id)).length).toBe(yes === 'ok' ? 1 : 0);
      await runOut(house);
    }
  });

  it('two reconcilers and two sweeps at once make one call', async () => {
    const { house, ada } = cast;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(30 * minute);
    const before = house.provider.count('ensureAbsent');
    const [row] = await house.database.sql`select id from entitlements where state <> 'absent'`;
    const entitlementId = row?.id as string;
    await Promise.all([
      ...Array.from({ length: 10 }, () => reconcileEntitlement(house.ctx, { entitlementId })),
      sweep(house.ctx),
      sweep(house.ctx),
    ]);
    expect(house.provider.count('ensureAbsent') - before).toBe(1);
    expect(holds()).toBe(false);
  });

  it('an intent that meets a revocation in progress is granted after it', async () => {
    const { house, ada } = cast;
    for (let round = 0; round < 5; round += 1) {
      const first = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
      await terminateExecution(ada, { id: first });
      const second = await request(ada, { workflow: 'automatic', duration: 'PT1H' });
      await Promise.all([sweep(house.ctx), sweep(house.ctx), sweep(house.ctx)]);
      await house.work();
      // The lease of a paused worker may still hold the entitlement.
      await house.pass(minute);
      expect(holds()).toBe(true);
      expect(await grantsOf(second)).toMatchObject([{ state: 'active' }]);
      await terminateExecution(ada, { id: second });
      await house.work();
      expect(holds()).toBe(false);
    }
  });

  it('giving back races expiry: gone either way, and the workflow ends', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(30 * minute - 1);
    const returned = await together([
      returnAccess(ada, { execution_id: id }),
      house.pass(1),
      returnAccess(ada, { execution_id: id }),
    ]);
    expect(returned.filter((result) => result === 'ok').length).toBeGreaterThan(0);
    await house.work();
    expect(holds()).toBe(false);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  describe('between approval and grant', () => {
    const approved = async (change: () => Promise<unknown>) => {
      const { house, ada, grace } = cast;
      const id = await ask(house, ada);
      // Approved, but no worker has run yet: the change comes before the grant.
      await approve(grace, id);
      await change();
      await house.work();
      return getExecution(ada, { id });
    };

    it('a role that was widened is rejected: it is not what was approved', async () => {
      const execution = await approved(() =>
        cast.house.applyCatalog(catalogWith({}, { inherits: ['memory:read', 'memory:write'] })),
      );
      expect(execution).toMatchObject({
        status: 'faulted',
        error: { type: 'https://belay.dev/errors/not-approved' },
        grants: [],
      });
      expect(cast.house.provider.held()).toEqual([]);
    });

    it('a role that was narrowed to something else is rejected too', async () => {
      const execution = await approved(() => cast.house.applyCatalog(catalogWith({}, { inherits: ['memory:other'] })));
      expect(execution).toMatchObject({ status: 'faulted', grants: [] });
    });

    it('a role that was removed is rejected', async () => {
      const { roles: _roles, ...rest } = catalogWith({}) as { roles: unknown };
      expect(await approved(() => cast.house.applyCatalog(rest))).toMatchObject({
        status: 'faulted',
        error: { status: 404 },
        grants: [],
      });
    });

    it('a role that was switched off, or shortened, is rejected', async () => {
      expect(await approved(() => cast.house.applyCatalog(catalogWith({}, { enabled: false })))).toMatchObject({
        status: 'faulted',
        grants: [],
      });
      await cast.house.applyCatalog(catalogWith({}));
      const shorter = catalogWith({}, { max_duration: 'PT5M', default_duration: 'PT5M' });
      expect(await approved(() => cast.house.applyCatalog(shorter))).toMatchObject({ status: 'faulted', grants: [] });
    });

    it('an owner who has left the group of the role is rejected', async () => {
      const { house, ada } = cast;
      const { id, email, name, provider, subject } = ada.actor;
      const set = (groups: string[]) => upsertUser(house.database.db, { id, email, name, provider, subject, groups });
      const execution = await approved(() => set([]));
      expect(execution).toMatchObject({ status: 'faulted', grants: [] });
      const user = await set(['engineers']);
      await createLogin(house.ctx, { user, kind: 'browser' });
      expect(await approved(async () => undefined)).toMatchObject({ status: 'waiting', grants: [{ state: 'active' }] });
    });
  });
});
