import { cancelExecution, getExecution, reconcileEntitlement } from '@belay/core';
import { performStep } from '@belay/engine';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { gateOf } from './support/gate.js';
import {
  access,
  ask,
  beginOnly,
  type Cast,
  catalogWith,
  hour,
  minute,
  openCast,
  request,
  runOut,
  second,
  statusOf,
} from './support/stories.js';

describe('a worker that was paused changes nothing when it comes back', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (workflows: Record<string, unknown[]> = {}) => {
    cast = await openCast({ catalog: catalogWith(workflows) });
    return cast;
  };
  const holds = () => cast?.house.provider.holds('ada@example.com', access);
  const stepOf = async (executionId: string) => {
    const [row] = await (cast as Cast).house.database
      .sql`select key from steps where execution_id = ${executionId} and status = 'open'`;
    return { executionId, key: row?.key as string };
  };
  const hotId = async () => (await (cast as Cast).house.database.sql`select id from entitlements`)[0]?.id as string;
  const told = async (type: string) => {
    const [row] = await (cast as Cast).house.database
      .sql`select count(*)::int as times from ledger where type = ${type}`;
    return row?.times as number;
  };

  /** Cancels a request while its grant call is on its way, and lets another worker take over and revoke. */
  const cancelMidway = async () => {
    const { house, ada } = await open();
    const id = await request(ada, { workflow: 'automatic' });
    const gate = gateOf(house, 'ensurePresent');
    const performing = performStep(gate.ctx, await stepOf(id));
    await gate.reached;
    await cancelExecution(ada, { id });
    await house.pass(46 * second);
    return { house, gate, performing };
  };

  it('whose grant call lands after its access was revoked: revoked again (R5)', async () => {
    const { house, gate, performing } = await cancelMidway();
    expect(house.provider.count('ensureAbsent')).toBe(1);
    const [early] = await house.database.sql`select state from entitlements`;
    expect(early?.state).toBe('revoking');
    gate.open();
    await performing;
    expect(holds()).toBe(true);
    expect(await told('entitlement.granted')).toBe(0);
    // The late call makes the row due itself; the quarantine is only for a call whose worker died.
    await house.work();
    expect(holds()).toBe(false);
    await house.pass(15 * minute);
    const [late] = await house.database.sql`select state from entitlements`;
    expect(late?.state).toBe('absent');
  });

  it('whose call was taken over is told as late; so is one that goes on after its time, without another worker', async () => {
    const { house, gate, performing } = await cancelMidway();
    const late = () => house.database.sql<{ message: string; same: boolean }[]>`
      select message, data -> 'fence' = data -> 'current_fence' as same from ledger
      where type = 'entitlement.call_late' order by seq`;
    gate.open();
    await performing;
    const call = 'A grant call for ada@example.com at memory finished';
    const first = {
      message: `${call} after another worker had claimed it; the access is checked again`,
      same: false,
    };
    expect([...(await late())]).toEqual([first]);
    await house.pass(hour);
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    await request(cast?.ada as Cast['ada'], { workflow: 'automatic' });
    await house.work();
    const slow = gateOf(house, 'ensurePresent');
    await house.database.advance(minute);
    const timing = { ...house.ctx.timing, callTimeout: 300 };
    await reconcileEntitlement({ ...slow.ctx, timing }, { entitlementId: await hotId() });
    slow.open();
    await vi.waitFor(async () => expect(await late()).toHaveLength(2), { timeout: 30_000 });
    const second = {
      message: `${call} too late for its result to be recorded; the access is checked again`,
      same: true,
    };
    expect([...(await late())]).toEqual([first, second]);
  });

  it('whose grant call lands after everything was settled: revoked again, and settled again', async () => {
    const { house, gate, performing } = await cancelMidway();
    await house.pass(hour);
    expect((await house.database.sql`select state from entitlements`)[0]?.state).toBe('absent');
    gate.open();
    await performing;
    await house.work();
    expect(holds()).toBe(false);
    expect((await house.database.sql`select state from entitlements`)[0]?.state).toBe('absent');
  });

  it('whose revocation lands after another worker granted anew: granted again at once', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const gate = gateOf(house, 'ensureAbsent');
    const revoking = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    await house.pass(46 * second);
    const later = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
    gate.open();
    await revoking;
    expect(holds()).toBe(false);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('whose revocation lands while another worker records a new grant: granted again within a second', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const late = gateOf(house, 'ensureAbsent');
    const revoking = reconcileEntitlement(late.ctx, { entitlementId: await hotId() });
    await late.reached;
    await house.pass(46 * second);
    const next = await request(ada, { workflow: 'automatic', duration: 'PT30M' });
    // Stops after the second read, because the first one precedes the intent: the new grant was read back and is not recorded yet.
    const gate = gateOf(house, 'holds', 'after', 1);
    const performing = performStep(gate.ctx, await stepOf(next));
    await gate.reached;
    late.open();
    await revoking;
    gate.open();
    await performing;
    // What was read back counts, and starts the clock; the call is repeated, with a pause.
    expect((await getExecution(ada, { id: next })).grants).toMatchObject([{ state: 'active' }]);
    await house.work();
    expect(house.provider.count('ensurePresent')).toBe(2);
    await house.pass(second);
    expect(house.provider.count('ensurePresent')).toBe(3);
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id: next })).grants).toMatchObject([{ state: 'active' }]);
  });

  it.each(['grant', 'revoke'] as const)(
    'between its claim and its %s call: it does not call, and another worker does',
    async (task) => {
      const { house, ada } = await open();
      const operation = task === 'grant' ? 'ensurePresent' : 'ensureAbsent';
      house.provider.inject('ensurePresent', { kind: 'throttle' });
      await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
      await house.pass(5 * second);
      if (task === 'revoke') await house.database.advance(hour);
      else await house.database.sql`update entitlements set state = 'granting', due_at = app_now()`;
      const before = house.provider.count(operation);
      const times = [0, 16 * second];
      const clock = () => new Date(times.shift() ?? 16 * second);
      await reconcileEntitlement({ ...house.ctx, clock }, { entitlementId: await hotId() });
      expect(house.provider.count(operation)).toBe(before);
      await house.work();
      expect(house.provider.count(operation)).toBe(before + 1);
      expect(holds()).toBe(task === 'grant');
    },
  );

  it('whose grant was made by another meanwhile: recorded once', async () => {
    const { house, ada } = await open();
    const id = await request(ada, { workflow: 'automatic' });
    const gate = gateOf(house, 'ensurePresent', 'after');
    const performing = performStep(gate.ctx, await stepOf(id));
    await gate.reached;
    await house.pass(46 * second);
    const [before] = (await getExecution(ada, { id })).grants;
    expect(before).toMatchObject({ state: 'active' });
    await house.pass(5 * second);
    gate.open();
    await performing;
    expect((await getExecution(ada, { id })).grants).toEqual([before]);
    expect(await told('entitlement.granted')).toBe(1);
  });

  it('that saw the access before it was revoked: a later grant is not active because of it', async () => {
    const { house, ada } = await open();
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    const first = await ask(house, ada, { workflow: 'automatic' });
    await house.database.advance(2 * second);
    const gate = gateOf(house, 'holds', 'after');
    const recording = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    await house.pass(46 * second);
    await cancelExecution(ada, { id: first });
    await house.work();
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    const later = await ask(house, ada, { workflow: 'automatic' });
    gate.open();
    await recording;
    expect(holds()).toBe(false);
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'granting' }]);
    await house.pass(2 * second);
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('that saw the access gone before it was granted anew: nothing is told to be gone because of it', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const gate = gateOf(house, 'holds', 'after');
    const recording = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    await house.pass(46 * second);
    const later = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    house.provider.inject('ensureAbsent', { kind: 'throttle' });
    await cancelExecution(ada, { id: later });
    await house.work();
    expect(holds()).toBe(true);
    gate.open();
    await recording;
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'ended', gone_at: null }]);
    await house.pass(5 * second);
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'gone' }]);
  });

  it('whose revocation meets a new intent: granted again, however the two interleave', async () => {
    for (const when of ['before', 'after'] as const) {
      const { house, ada } = await open();
      await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
      // Past every quarantine, so that this revocation would settle.
      await house.database.advance(hour);
      const gate = gateOf(house, 'ensureAbsent', when);
      const revoking = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
      await gate.reached;
      const second = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
      gate.open();
      await revoking;
      await house.work();
      expect((await getExecution(ada, { id: second })).grants).toMatchObject([{ state: 'active' }]);
      expect(holds()).toBe(true);
      await runOut(house);
      expect(holds()).toBe(false);
      await house[Symbol.asyncDispose]();
      cast = undefined;
    }
  });

  it('whose revocation was made by another meanwhile: recorded once', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const gate = gateOf(house, 'ensureAbsent', 'after');
    const revoking = reconcileEntitlement(gate.ctx, { entitlementId: await hotId() });
    await gate.reached;
    await house.pass(46 * second);
    gate.open();
    await revoking;
    expect(await told('entitlement.revoked')).toBe(1);
    expect(holds()).toBe(false);
  });

  it('whose observation is old by the time it intends: our own access is not taken for another person’s', async () => {
    const { house, ada, alan } = await open();
    // Alan's access comes first. Ada observes while an earlier request holds her access, and intends when that access is gone.
    await ask(house, alan, { workflow: 'automatic' });
    const first = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const later = await request(ada, { workflow: 'automatic', duration: 'PT2H' });
    const gate = gateOf(house, 'holds', 'after');
    const performing = performStep(gate.ctx, await stepOf(later));
    await gate.reached;
    await cancelExecution(ada, { id: first });
    await house.work();
    expect(holds()).toBe(false);
    gate.open();
    await performing;
    await house.work();
    await house.pass(minute);
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
    expect(holds()).toBe(true);
  });

  it('whose observation is older than our own revocation: looked at again, and granted', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const later = await request(ada, { workflow: 'automatic', duration: 'PT30M' });
    const gate = gateOf(house, 'holds', 'after');
    const performing = performStep(gate.ctx, await stepOf(later));
    await gate.reached;
    await house.database.advance(31 * minute);
    await reconcileEntitlement(house.ctx, { entitlementId: await hotId() });
    expect((await house.database.sql`select state from entitlements`)[0]?.state).toBe('absent');
    gate.open();
    await performing;
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
    expect(holds()).toBe(true);
  });

  it('whose look at the approvals is old: nothing is granted beside an approval that was opened meanwhile', async () => {
    const branches = [
      { one: { do: [{ grant: { call: 'access.grant' } }] } },
      {
        other: {
          do: [{ approve: { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] } }] } } }],
        },
      },
    ];
    const { house, ada } = await open({ forked: [{ both: { fork: { branches } } }] });
    const id = await request(ada, { workflow: 'forked' });
    await beginOnly(house, id);
    const keys = await house.database
      .sql`select key from steps where execution_id = ${id} and status = 'open' order by request ->> 'call'`;
    const [approve, grant] = keys.map(({ key }) => ({ executionId: id, key: key as string }));
    const gate = gateOf(house, 'holds');
    const performing = performStep(gate.ctx, grant as { executionId: string; key: string });
    await gate.reached;
    await performStep(house.ctx, approve as { executionId: string; key: string });
    gate.open();
    await performing;
    expect(holds()).toBe(false);
    expect((await getExecution(ada, { id })).grants).toEqual([]);
    expect(await statusOf(ada, id)).toBe('faulted');
  });

  it('whose step was taken over: the outcome of the one who has it counts, once', async () => {
    const tell = { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } };
    const { house, ada } = await open({ told: [{ tell }, { pause: { wait: { hours: 1 } } }] });
    const id = await request(ada, { workflow: 'told' });
    const gate = gateOf(house, 'deliver');
    const performing = performStep(gate.ctx, await stepOf(id));
    await gate.reached;
    await house.pass(46 * second);
    expect(await statusOf(ada, id)).toBe('waiting');
    gate.open();
    await performing;
    const { history } = await getExecution(ada, { id });
    const ends = history.filter(
      ({ event_type, task }) => event_type.endsWith('task.completed.v1') && task === '/do/0/tell',
    );
    expect(ends).toHaveLength(1);
    // The message was sent twice with the same key, so the receiver could recognise the repeat.
    expect(house.provider.count('deliver')).toBe(2);
    expect(house.provider.messages).toHaveLength(1);
  });

  it('whose step another has and has not finished: the old outcome is dropped', async () => {
    const tell = { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } };
    const { house, ada } = await open({ told: [{ tell }] });
    const id = await request(ada, { workflow: 'told' });
    const gate = gateOf(house, 'deliver', 'after');
    const performing = performStep(gate.ctx, await stepOf(id));
    await gate.reached;
    house.provider.inject('find', { kind: 'throttle' });
    await house.pass(46 * second);
    gate.open();
    await performing;
    expect((await getExecution(ada, { id })).waiting_for).toEqual(['The provider asks for patience']);
    await house.pass(10 * second);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('that comes back after the end: an intent for an execution that has ended writes nothing', async () => {
    const { house, ada } = await open();
    const id = await request(ada, { workflow: 'automatic' });
    const gate = gateOf(house, 'holds', 'after');
    const performing = performStep(gate.ctx, await stepOf(id));
    await gate.reached;
    await cancelExecution(ada, { id });
    gate.open();
    await performing;
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'cancelled', grants: [] });
    expect(house.provider.count('ensurePresent')).toBe(0);
  });
});
