import { cancelExecution, getExecution, reconcileEntitlement } from '@belay/core';
import { performStep } from '@belay/engine';
import { afterEach, describe, expect, it } from 'vitest';
import { gateOf, someoneWaits } from './support/gate.js';
import {
  access,
  ask,
  type Cast,
  catalogWith,
  deny,
  hour,
  minute,
  openCast,
  request,
  runOut,
  second,
  statusOf,
} from './support/stories.js';

const CANCELLED = 'https://belay.dev/errors/cancelled';

describe('access under bad luck', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (workflows: Record<string, unknown[]> = {}) => {
    cast = await openCast({ catalog: catalogWith(workflows) });
    return cast;
  };

  it('activates a grant whose intent is committed while an earlier grant call is being recorded', async () => {
    const { house, ada } = await open();
    const { sql } = house.database;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const [row] = await sql`select id from entitlements`;
    const id = row?.id as string;
    // The record of a grant call meets an intent that holds the entitlement's lock and commits before it.
    await sql`update entitlements set state = 'granting', due_at = app_now()`;
    const late = await request(ada, { workflow: 'automatic', duration: 'PT2H' });
    const locker = await sql.reserve();
    await locker`begin`;
    const gate = gateOf(house, 'holds');
    const recording = reconcileEntitlement(gate.ctx, { entitlementId: id });
    await gate.reached;
    await locker`select 1 from entitlements where id = ${id} for update`;
    gate.open();
    // The record waits for the lock of this test; the intent appears only now.
    await someoneWaits(house);
    await locker`insert into grants (id, execution_id, step_key, entitlement_id, user_id, identity, access, known_as, duration, activate_by)
      select gen_random_uuid(), ${late}, key, ${id}, ${ada.actor.id}, 'ada@example.com', '{}', '[]', ${2 * hour}, app_now() + interval '3 hours' from steps where execution_id = ${late}`;
    await locker`update entitlements set state = 'granting', due_at = app_now() where id = ${id}`;
    await locker`update steps set attempt = 1, due_at = app_now() + interval '45 seconds' where execution_id = ${late}`;
    await locker`commit`;
    locker.release();
    await recording;
    // The statement of the record does not see the new grant: it makes the row due, and the next call activates the grant.
    await house.pass(second);
    expect((await getExecution(ada, { id: late })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('comes to rest when the provider rejects an extension for good, and leaves the access that is there', async () => {
    const { house, ada } = await open();
    const first = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    house.provider.inject('ensurePresent', { kind: 'refuse' }, 200);
    const second = await ask(house, ada, { workflow: 'automatic', duration: 'PT2H' });
    expect(await getExecution(ada, { id: second })).toMatchObject({ status: 'faulted', grants: [{ state: 'failed' }] });
    expect(await getExecution(ada, { id: first })).toMatchObject({ status: 'waiting', grants: [{ state: 'active' }] });
    expect(house.provider.count('ensurePresent')).toBeLessThan(5);
    await runOut(house);
    expect(house.provider.held()).toEqual([]);
  });

  it('ends the access with the cancellation, not with what cleans up after it', async () => {
    const cleanUp = {
      try: [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }],
      catch: {
        errors: { with: { type: CANCELLED } },
        do: [{ linger: { wait: { hours: 1 } } }, { again: { call: 'access.grant' } }],
      },
    };
    const { house, ada } = await open({ tidy: [{ guarded: cleanUp }] });
    const id = await ask(house, ada, { workflow: 'tidy' });
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    await cancelExecution(ada, { id });
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'gone', ended_reason: 'cancelled' }]);
    // The cleanup cannot be granted the access again either.
    await house.pass(hour);
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    expect(await statusOf(ada, id)).toBe('cancelled');
  });

  it('asks for approval in what cleans up after a cancellation, and waits for the answer', async () => {
    const stages = [{ approvers: { groups: ['approvers'] } }];
    const cleanUp = {
      try: [{ linger: { wait: { hours: 1 } } }],
      catch: { errors: { with: { type: CANCELLED } }, do: [{ close: { call: 'access.approve', with: { stages } } }] },
    };
    const { house, ada, grace } = await open({ tidy: [{ guarded: cleanUp }] });
    const id = await ask(house, ada, { workflow: 'tidy' });
    await cancelExecution(ada, { id });
    await house.work();
    expect((await getExecution(ada, { id })).approvals).toMatchObject([{ status: 'open' }]);
    expect(await deny(grace, id)).toMatchObject({ status: 'denied' });
    await house.work();
    expect(await statusOf(ada, id)).toBe('cancelled');
  });

  it('leaves nothing to come when a workflow ends beside a grant that is in progress', async () => {
    const branches = [{ slow: { do: [{ grant: { call: 'access.grant' } }] } }, { quick: { wait: { minutes: 1 } } }];
    const { house, ada } = await open({ beside: [{ either: { fork: { compete: true, branches } } }] });
    house.provider.inject('ensurePresent', { kind: 'throttle' }, 5);
    const id = await ask(house, ada, { workflow: 'beside', duration: 'PT8H' });
    for (let again = 0; again < 20; again += 1) await house.pass(minute);
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'completed',
      grants: [{ ended_reason: 'failed', granted_at: null }],
    });
    expect(house.provider.held()).toEqual([]);
  });

  it('locks grants before entitlements when it records a revocation, as every other verb does', async () => {
    const { house, ada } = await open();
    const { sql } = house.database;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const locker = await sql.reserve();
    await locker`begin`;
    await locker`select 1 from grants for update`;
    const revoking = house.work();
    await someoneWaits(house);
    // Otherwise this would be a deadlock with another end of the same grant.
    await locker`select 1 from entitlements for update nowait`;
    await locker`commit`;
    locker.release();
    await revoking;
    await house.pass(minute);
    expect(house.provider.held()).toEqual([]);
  });

  it('grants all of a role or nothing of it', async () => {
    cast = await openCast({ catalog: catalogWith({}, { inherits: ['memory:read', 'memory:write', 'memory:more'] }) });
    const { house, ada } = cast;
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    house.provider.inject('ensurePresent', { kind: 'refuse' });
    const id = await ask(house, ada, { workflow: 'automatic' });
    await house.pass(minute);
    const execution = await getExecution(ada, { id });
    expect(execution).toMatchObject({
      status: 'faulted',
      error: { detail: expect.stringContaining('The provider rejects') },
    });
    expect(execution.grants.map(({ state }) => state)).toEqual(['gone', 'gone', 'gone']);
    expect(house.provider.held()).toEqual([]);
  });

  it('ends the grants of a grant step that its workflow gave up', async () => {
    const giveUp = {
      try: [{ grant: { call: 'access.grant', timeout: { after: 'PT1M' } } }],
      catch: { do: [{ on: { wait: { hours: 2 } } }] },
    };
    const { house, ada } = await open({ hasty: [{ guarded: giveUp }] });
    house.provider.inject('ensurePresent', { kind: 'throttle' }, 3);
    const id = await ask(house, ada, { workflow: 'hasty', duration: 'PT8H' });
    house.provider.down = true;
    await house.pass(2 * minute);
    house.provider.down = false;
    await house.pass(5 * minute);
    expect(house.provider.held()).toEqual([]);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'waiting', grants: [{ ended_reason: 'failed' }] });
  });

  it.each(['throttle', 'conflict', 'lost-answer'] as const)('gets over %s of every call', async (kind) => {
    const { house, ada } = await open();
    for (const operation of ['holds', 'ensurePresent', 'ensureAbsent', 'identities'] as const)
      house.provider.inject(operation, { kind }, 2);
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    for (let again = 0; again < 6; again += 1) await house.pass(minute);
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    await runOut(house);
    expect(house.provider.held()).toEqual([]);
  });

  it('grants nothing that fails later, and says so (R6)', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', { kind: 'fails-later' }, 1_000);
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'granting', granted_at: null }]);
    await house.pass(2 * hour);
    expect(await statusOf(ada, id)).toBe('faulted');
    await runOut(house);
    expect(house.provider.held()).toEqual([]);
  });

  it('revokes again when the provider says it still holds what it was told to revoke', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensureAbsent', { kind: 'fails-later' }, 3);
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.pass(30 * minute);
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'ended', gone_at: null }]);
    for (let again = 0; again < 5; again += 1) await house.pass(minute);
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
  });

  it('takes a step over from a worker that died, and calls no more often than once for each attempt', async () => {
    const { house, ada } = await open({
      told: [{ tell: { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } } }],
    });
    const id = await request(ada, { workflow: 'told' });
    const [step] = await house.database.sql`select key from steps where execution_id = ${id}`;
    const key = step?.key as string;
    await Promise.all(Array.from({ length: 10 }, () => performStep(house.ctx, { executionId: id, key })));
    expect(house.provider.count('deliver')).toBe(1);
    expect(await statusOf(ada, id)).toBe('completed');
  });
});
