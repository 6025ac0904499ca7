import {
  cancelExecution,
  createSignal,
  createState,
  getExecution,
  listInbox,
  resumeExecution,
  signalExecution,
} from '@belay/core';
import { findDueSteps, performStep } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, describe, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
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
  runOut,
  staged,
  statusOf,
} from './support/stories.js';

const NOT_APPROVED = 'https://belay.dev/errors/not-approved';
const approval = { approve: { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] } }] } } };
const grant = { grant: { call: 'access.grant' } };

describe('an approval ends', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog: unknown = catalogWith({})) => {
    cast = await openCast({ catalog });
    return cast;
  };
  const holds = () => (cast as Cast).house.provider.holds('ada@example.com', access);
  /** Approves a request before an outage of the provider, which lasts for `down`, and waits until the outage has ended. */
  const approvedAndDown = async ({ house, ada, grace }: Cast, down: number) => {
    const id = await ask(house, ada);
    await approve(grace, id);
    house.provider.down = true;
    await house.work();
    for (let passed = 0; passed < down; passed += 10 * minute) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    return id;
  };

  it('is granted on when the provider comes back within the hour', async () => {
    const { ada } = await open();
    const id = await approvedAndDown(cast as Cast, 50 * minute);
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id })).approvals).toMatchObject([{ status: 'approved', because: null }]);
  });

  it('is asked again after an outage of two hours, and says why', async () => {
    const { house, ada, grace, alan } = await open();
    const id = await approvedAndDown(cast as Cast, 2 * hour);
    expect(holds()).toBe(false);
    const because = 'The approval of 2026-03-01T10:00:00.000Z was not used within PT1H';
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'waiting',
      waiting_for: [expect.objectContaining({})],
      approvals: [{ status: 'approved' }, { status: 'open', because }],
      grants: [],
    });
    expect(JSON.stringify((await getExecution(ada, { id })).waiting_for)).toContain(because);
    expect((await listInbox(grace)).approvals).toMatchObject([{ execution_id: id, because, decisions: 0 }]);
    // The requester cannot decide the second time either.
    await expect(approve(ada, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await approve(alan, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    await runOut(house);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('is asked again as often as it ends', async () => {
    const { house, ada, grace } = await open();
    const id = await approvedAndDown(cast as Cast, 2 * hour);
    await approve(grace, id);
    house.provider.down = true;
    for (let passed = 0; passed < 2 * hour; passed += 10 * minute) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    expect(holds()).toBe(false);
    expect((await getExecution(ada, { id })).approvals).toMatchObject([
      { status: 'approved' },
      { status: 'approved' },
      { status: 'open' },
    ]);
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('is asked again when it ends while the provider is called, and nothing says that it was granted', async () => {
    const { house, ada, grace } = await open({ ...catalogWith({}), server: { approval_lifetime: 'PT10M' } });
    const id = await ask(house, ada);
    await approve(grace, id);
    await house.database.advance(10 * minute - 5_000);
    const gate = gateOf(house, 'ensurePresent', 'after');
    const working = sweep(gate.ctx);
    await gate.reached;
    await house.database.advance(10_000);
    gate.open();
    await working;
    await house.work();
    await house.pass(minute);
    expect(holds()).toBe(false);
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'waiting',
      approvals: [{ status: 'approved' }, { status: 'open' }],
      grants: [],
    });
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it.each(['step', 'provider'])(
    'and the end of its grant is told once, when the %s is looked at first',
    async (first) => {
      const { house, ada, grace } = await open();
      const id = await ask(house, ada);
      await approve(grace, id);
      house.provider.inject('ensurePresent', { kind: 'throttle' }, 1_000);
      await house.work();
      await house.database.advance(hour + minute);
      if (first === 'step') for (const step of await findDueSteps(house.ctx, 10)) await performStep(house.ctx, step);
      for (let passed = 0; passed < 3; passed += 1) await house.pass(10 * minute);
      const [grant] = await house.database.sql`select ended_reason from grants where execution_id = ${id}`;
      expect(grant?.ended_reason).toBe('lapsed');
      const told = await house.database.sql`
        select type, message from ledger where execution_id = ${id} and type in ('grant.ended', 'grant.expired')`;
      expect([...told]).toEqual([
        first === 'step'
          ? { type: 'grant.ended', message: 'A grant ended early: lapsed' }
          : { type: 'grant.expired', message: 'The time at memory is over for ada@example.com' },
      ]);
    },
  );

  it.each(['signal', 'state'])('is not given again by the %s that gave it the first time', async (kind) => {
    const { house, ada, grace } = await open({ ...catalogWith({}), server: { approval_lifetime: 'PT10M' } });
    const id = await ask(house, ada);
    const [asked] = (await listInbox(grace)).approvals;
    const requestDigest = String(asked?.request_digest);
    const data = { approved: true, request_digest: requestDigest };
    const { input } = await createSignal(grace, { id, type: 'belay.approval.decided', data });
    const state = await createState(grace, { executionId: id, verdict: 'approve', requestDigest });
    const decide = () =>
      kind === 'signal' ? signalExecution(grace, { id, input }) : resumeExecution(grace, { state });
    await decide();
    house.provider.down = true;
    for (let passed = 0; passed < 20; passed += 1) await house.pass(minute);
    house.provider.down = false;
    await house.pass(minute);
    expect((await listInbox(grace)).approvals).toMatchObject([{ execution_id: id, request_digest: requestDigest }]);
    await expect(decide()).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect(holds()).toBe(false);
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('is a denial when it is denied, or not decided, the second time', async () => {
    const { house, ada, grace } = await open(staged({ timeout: 'PT4H' }));
    const refused = await approvedAndDown(cast as Cast, 2 * hour);
    expect(await deny(grace, refused)).toMatchObject({ status: 'denied' });
    await house.work();
    expect(await getExecution(ada, { id: refused })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      grants: [],
    });
    const silent = await approvedAndDown(cast as Cast, 2 * hour);
    await house.pass(4 * hour);
    expect(await getExecution(ada, { id: silent })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      approvals: [{ status: 'approved' }, { status: 'expired' }],
      grants: [],
    });
    expect(holds()).toBe(false);
  });

  it('takes as many approvers the second time as the first', async () => {
    const { house, grace, alan } = await open(staged({ count: 2 }));
    const { ada } = cast as Cast;
    const id = await ask(house, ada);
    await approve(grace, id);
    await approve(alan, id);
    house.provider.down = true;
    for (let passed = 0; passed < 2 * hour; passed += 10 * minute) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    expect(await approve(grace, id)).toMatchObject({ status: 'open' });
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect(holds()).toBe(false);
    expect(await approve(alan, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(holds()).toBe(true);
  });

  it('is asked again when the workflow waits longer before it grants', async () => {
    const { house, ada, grace } = await open(
      catalogWith({ planned: [approval, { pause: { wait: { hours: 3 } } }, grant] }),
    );
    const id = await ask(house, ada, { workflow: 'planned' });
    await approve(grace, id);
    await house.pass(3 * hour);
    expect(holds()).toBe(false);
    expect((await listInbox(grace)).approvals).toMatchObject([{ execution_id: id }]);
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('lasts as long as the role says, else as long as the server says', async () => {
    const planned = { planned: [approval, { pause: { wait: { hours: 3 } } }, grant] };
    const long = { ...catalogWith(planned), server: { approval_lifetime: 'PT4H' } };
    const { house, ada, grace } = await open(long);
    const id = await ask(house, ada, { workflow: 'planned' });
    await approve(grace, id);
    await house.pass(3 * hour);
    expect(holds()).toBe(true);
    await runOut(house);
    const short = { ...catalogWith(planned, { approval_lifetime: 'PT2H' }), server: { approval_lifetime: 'PT4H' } };
    await house.applyCatalog(short);
    const other = await ask(house, ada, { workflow: 'planned' });
    await approve(grace, other);
    await house.pass(3 * hour);
    expect(holds()).toBe(false);
    await expect(house.applyCatalog({ ...short, server: { approval_lifetime: 'soon' } })).rejects.toMatchObject({
      issues: [{ path: 'server.approval_lifetime' }],
    });
  });

  it('ends a grant call that the provider does not answer until then: nothing lands later', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, { duration: 'PT8H' });
    house.provider.inject('ensurePresent', { kind: 'throttle' }, 1_000);
    await approve(grace, id);
    await house.work();
    for (let passed = 0; passed < 70; passed += 5) await house.pass(5 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'waiting',
      approvals: [{ status: 'approved' }, { status: 'open' }],
    });
    while (house.provider.take({ operation: 'ensurePresent' })) continue;
    await house.pass(minute);
    expect(holds()).toBe(false);
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
    const { grants } = await getExecution(ada, { id });
    expect(grants).toMatchObject([{ state: 'active' }]);
    await runOut(house);
    expect(holds()).toBe(false);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('is withdrawn when the request is cancelled while it is asked again', async () => {
    const { house, ada, grace } = await open();
    const id = await approvedAndDown(cast as Cast, 2 * hour);
    await cancelExecution(ada, { id });
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'cancelled',
      approvals: [{ status: 'approved' }, { status: 'withdrawn' }],
    });
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(holds()).toBe(false);
  });

  it('counts for a second grant of the same request no longer than for the first', async () => {
    const { house, ada, grace } = await open(
      catalogWith({
        twice: [approval, { first: grant.grant }, { hold: { call: 'access.hold' } }, { second: grant.grant }],
      }),
    );
    const id = await ask(house, ada, { workflow: 'twice', duration: 'PT2H' });
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
    await house.pass(2 * hour);
    await house.work();
    expect(holds()).toBe(false);
    expect((await listInbox(grace)).approvals).toMatchObject([{ execution_id: id }]);
  });

  it('is asked again when a version approved it that did not say where', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    await house.database
      .sql`update approvals set subject = jsonb_set(subject, '{grants,0}', (subject #> '{grants,0}') - 'pin')`;
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(false);
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(true);
  });
});
