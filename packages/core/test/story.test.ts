import { AccessError } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import {
  cancelExecution,
  decideApproval,
  getExecution,
  listAccess,
  listExecutions,
  listInbox,
  requestElevation,
  returnAccess,
  revokeAccess,
  terminateExecution,
} from '@belay/core';
import { createHouse, type House } from '@belay/testkit/house';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const access = { role: 'read' };
const minute = 60_000;

describe('the main job: ask, decide, grant, revoke', () => {
  let house: House;
  let ada: Awaited<ReturnType<House['person']>>;
  let grace: typeof ada;
  let alan: typeof ada;
  let mallory: typeof ada;

  beforeAll(async () => {
    house = await createHouse();
    ada = await house.person('ada', ['engineers']);
    grace = await house.person('grace', ['approvers']);
    alan = await house.person('alan', ['approvers', 'engineers']);
    mallory = await house.person('mallory');
  });
  afterAll(() => house[Symbol.asyncDispose]());
  beforeEach(async () => {
    // Every story begins with nothing held and nothing owed.
    await house.pass(24 * 60 * minute);
    expect(house.provider.held()).toEqual([]);
  });

  const ask = async (workflow = 'approved', duration = 'PT30M') => {
    const { output } = await requestElevation(ada, { role: 'reader', reason: 'a ticket', duration, workflow });
    await house.work();
    return output.execution_id;
  };
  const holds = () => house.provider.holds('ada@example.com', access);

  it('grants after approval, holds for the stated time, and revokes', async () => {
    const id = await ask();
    expect(holds()).toBe(false);
    const [item] = (await listInbox(grace)).approvals;
    expect(item).toMatchObject({
      execution_id: id,
      requester: { email: 'ada@example.com' },
      role: 'reader',
      duration: 'PT30M',
      grants: [{ provider: 'memory', identity: 'ada@example.com', access, residual: 'PT0S' }],
    });
    await decideApproval(grace, {
      id: item?.id ?? '',
      verdict: 'approve',
      request_digest: item?.request_digest,
      via: 'api',
    });
    await house.work();
    expect(holds()).toBe(true);
    expect((await listAccess(ada)).access).toMatchObject([{ execution_id: id, state: 'active' }]);
    const active = await getExecution(ada, { id });
    expect(active.status).toBe('waiting');
    expect(active.grants).toMatchObject([{ state: 'active' }]);

    await house.pass(29 * minute);
    expect(holds()).toBe(true);
    await house.pass(minute);
    expect(holds()).toBe(false);
    const over = await getExecution(ada, { id });
    expect(over).toMatchObject({ status: 'completed', grants: [{ state: 'gone' }], end_time: expect.any(String) });
    expect(over.history.map((entry) => entry.event_type)).toEqual(
      expect.arrayContaining([
        'elevation.requested',
        'approval.opened',
        'approval.decided',
        'approval.approved',
        'grant.intended',
        'entitlement.granted',
        'grant.expired',
        'entitlement.revoked',
        'io.serverlessworkflow.workflow.completed.v1',
      ]),
    );
  });

  it('lets neither the requester nor a bystander decide', async () => {
    const id = await ask();
    await expect(decideApproval(ada, { id, verdict: 'approve', via: 'api' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(decideApproval(mallory, { id, verdict: 'approve', via: 'api' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(getExecution(mallory, { id })).rejects.toMatchObject({ code: 'not_found' });
    expect((await listInbox(ada)).approvals).toEqual([]);
    expect((await listInbox(mallory)).approvals).toEqual([]);
    await cancelExecution(ada, { id });
  });

  it('grants nothing after a denial', async () => {
    const id = await ask();
    await decideApproval(grace, { id, verdict: 'deny', comment: 'not today', via: 'api' });
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'completed',
      output: { approved: false },
      grants: [],
    });
    expect(holds()).toBe(false);
  });

  it('takes silence for a denial', async () => {
    const id = await ask();
    await house.pass(24 * 60 * minute);
    const execution = await getExecution(ada, { id });
    expect(execution).toMatchObject({
      status: 'completed',
      output: { approved: false },
      approvals: [{ status: 'expired' }],
    });
  });

  it('rejects a decision that comes late, twice, or for other content', async () => {
    const id = await ask();
    await expect(
      decideApproval(grace, { id, verdict: 'approve', request_digest: 'other', via: 'api' }),
    ).rejects.toMatchObject({ code: 'conflict' });
    await decideApproval(grace, { id, verdict: 'approve', via: 'api' });
    await expect(decideApproval(grace, { id, verdict: 'approve', via: 'api' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(decideApproval(alan, { id, verdict: 'deny', via: 'api' })).rejects.toMatchObject({ code: 'conflict' });
    await terminateExecution(ada, { id });
  });

  it('cancels a request that waits; no one can decide it afterwards', async () => {
    const id = await ask();
    await expect(cancelExecution(grace, { id })).rejects.toMatchObject({ code: 'forbidden' });
    await cancelExecution(ada, { id });
    expect((await getExecution(ada, { id })).status).toBe('cancelled');
    expect((await listInbox(grace)).approvals).toEqual([]);
    await expect(decideApproval(grace, { id, verdict: 'approve', via: 'api' })).rejects.toBeInstanceOf(AccessError);
    await expect(cancelExecution(ada, { id })).rejects.toMatchObject({ code: 'conflict' });
  });

  it.each(['cancel', 'terminate'] as const)('ends access at once when its execution is ended by %s', async (how) => {
    const id = await ask('automatic');
    expect(holds()).toBe(true);
    await (how === 'cancel' ? cancelExecution(ada, { id }) : terminateExecution(ada, { id }));
    await house.work();
    expect(holds()).toBe(false);
    const execution = await getExecution(ada, { id });
    expect(execution.status).toBe(how === 'cancel' ? 'cancelled' : 'terminated');
    expect(execution.grants).toMatchObject([{ state: 'gone', ended_reason: execution.status }]);
  });

  it('takes access away when it is given back early, and lets the workflow end', async () => {
    const id = await ask('automatic');
    await expect(returnAccess(grace, { execution_id: id })).rejects.toMatchObject({ code: 'not_found' });
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(holds()).toBe(false);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: { reason: 'returned' } });
    await expect(returnAccess(ada, { execution_id: id })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('takes a reason as long as the interface does, and no longer', async () => {
    const { output } = await requestElevation(ada, { role: 'reader', reason: 'x'.repeat(limits.reason) });
    expect((await getExecution(ada, { id: output.execution_id })).reason).toHaveLength(4_000);
    await expect(
      requestElevation(ada, { role: 'reader', reason: 'x'.repeat(limits.reason + 1) }),
    ).rejects.toMatchObject({
      issues: [{ path: 'reason', message: 'is longer than 4000 characters' }],
    });
  });

  it('lets an operator revoke, with a reason, and no one else', async () => {
    const id = await ask('automatic');
    await expect(revokeAccess(grace, { execution_id: id, reason: 'x' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(revokeAccess(house.operator(), { execution_id: id, reason: ' ' })).rejects.toMatchObject({
      code: 'invalid',
    });
    await revokeAccess(house.operator(), { user: 'Ada@example.com', reason: 'an incident' });
    await house.work();
    expect(holds()).toBe(false);
    const execution = await getExecution(ada, { id });
    expect(execution).toMatchObject({ status: 'completed', grants: [{ state: 'gone', ended_reason: 'revoked' }] });
    expect(execution.history.map((entry) => entry.message)).toContainEqual(expect.stringContaining('an incident'));
  });

  it('keeps access while another grant claims it: the last one out takes it away', async () => {
    const first = await ask('automatic', 'PT30M');
    await house.pass(20 * minute);
    await ask('automatic', 'PT1H');
    await house.pass(11 * minute);
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id: first })).status).toBe('completed');
    await house.pass(49 * minute);
    expect(holds()).toBe(false);
  });

  it('rejects what the identity holds already, outside this service (R2), and never revokes it', async () => {
    house.provider.put('ada@example.com', access);
    const id = await ask('automatic');
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      error: { type: 'https://belay.dev/errors/held-outside' },
      grants: [],
    });
    await house.pass(24 * 60 * minute);
    expect(holds()).toBe(true);
    house.provider.remove('ada@example.com', access);
  });

  it('waits for a provider that is down and says so; the clock starts when the access is active', async () => {
    const id = await ask('approved');
    house.provider.down = true;
    // The decision waits for no provider. Whether the access is for this approver is looked up before the grant.
    await decideApproval(grace, { id, verdict: 'approve', via: 'api' });
    await house.work();
    expect((await listExecutions(ada)).executions.find((execution) => execution.run_id === id)?.waiting_for).toEqual([
      expect.stringContaining('does not answer'),
    ]);
    await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    expect(holds()).toBe(true);
    await house.pass(29 * minute);
    expect(holds()).toBe(true);
    await house.pass(2 * minute);
    expect(holds()).toBe(false);
  });

  it('revokes when a provider that was down comes back, however long that takes', async () => {
    await ask('automatic', 'PT10M');
    house.provider.down = true;
    await house.pass(20 * minute);
    for (let hour = 0; hour < 5; hour += 1) await house.pass(60 * minute);
    house.provider.down = false;
    expect(holds()).toBe(true);
    await house.pass(5 * minute);
    expect(holds()).toBe(false);
  });

  it('never lets a grant call that lands late survive (R5)', async () => {
    house.provider.inject('ensurePresent', { kind: 'late', delayMilliseconds: 60_000 }, 1);
    const id = await ask('automatic', 'PT10M');
    await cancelExecution(ada, { id });
    await house.work();
    // The abandoned call reaches the provider now, after the first revocation.
    house.provider.land();
    await house.pass(16 * minute);
    expect(holds()).toBe(false);
  });
});
