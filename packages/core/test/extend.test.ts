import {
  cancelExecution,
  extendElevation,
  getExecution,
  listAccess,
  listExecutions,
  listInbox,
  requestElevation,
  returnAccess,
  terminateExecution,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  statusOf,
  together,
} from './support/stories.js';

let cast: Cast;
beforeEach(async () => {
  cast = await openCast({ catalog: catalogWith({}, { max_duration: 'PT2H' }) });
});
afterEach(() => cast[Symbol.asyncDispose]());

const holds = () => cast.house.provider.holds('ada@example.com', access);

/** Makes a request of ada whose access is active for 30 minutes. */
async function activate(workflow = 'approved'): Promise<string> {
  const { house, ada, grace } = cast;
  const id = await ask(house, ada, { workflow });
  if (workflow === 'approved') await approve(grace, id);
  await house.work();
  expect(await getExecution(ada, { id })).toMatchObject({ state: 'active' });
  return id;
}

async function extend(id: string, more: { duration?: string; reason?: string } = {}, by = cast.ada): Promise<string> {
  const { output } = await extendElevation(by, { id, ...more });
  await cast.house.work();
  return output.execution_id;
}

describe('extending a request', () => {
  it('is a request on the same terms, whose access joins the old one without a gap', async () => {
    const { house, ada, grace } = cast;
    const id = await activate();
    await house.pass(20 * minute);
    const longer = await extend(id);
    expect(await getExecution(ada, { id: longer })).toMatchObject({
      state: 'waiting_for_approval',
      extends: id,
      role: 'reader',
      reason: 'a ticket',
      duration: 'PT30M',
      workflow_type: { name: 'approved' },
    });
    // The approver of the extension sees that the person already has the access.
    expect((await listInbox(grace)).approvals).toMatchObject([{ execution_id: longer, extends: id }]);
    await approve(grace, longer);
    await house.work();
    const calls = house.provider.calls.length;
    await house.pass(15 * minute);
    expect(holds()).toBe(true);
    expect(house.provider.calls.slice(calls).map(({ operation }) => operation)).not.toContain('ensureAbsent');
    expect((await listAccess(ada)).access).toMatchObject([
      { execution_id: longer, expires_at: '2026-03-01T10:50:00.000Z' },
    ]);
    await house.pass(20 * minute);
    expect(holds()).toBe(false);
    expect((await listExecutions(ada, { status: 'past' })).executions.map(({ state }) => state)).toEqual([
      'ended',
      'ended',
    ]);
  });

  it('never shortens: a denied or cancelled extension leaves the access as it was', async () => {
    const { house, ada, grace } = cast;
    const id = await activate();
    await house.pass(10 * minute);
    await deny(grace, await extend(id));
    await house.work();
    const other = await extend(id, { duration: 'PT1H' });
    await cancelExecution(ada, { id: other });
    await house.work();
    expect(holds()).toBe(true);
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'active', ends_at: '2026-03-01T10:30:00.000Z' });
  });

  it('is not granted any more when its access was given back while it waited', async () => {
    const { house, ada, grace } = cast;
    const id = await activate();
    await house.pass(minute);
    const longer = await extend(id);
    await returnAccess(ada, { execution_id: id });
    await house.work();
    await expect(approve(grace, longer)).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect(holds()).toBe(false);
  });

  it('ends with the access that it extends, or that was extended by it, however that ends early', async () => {
    const { house, ada } = cast;
    for (const end of [
      (id: string) => returnAccess(ada, { execution_id: id }),
      (_: string, longer: string) => returnAccess(ada, { execution_id: longer }),
      (id: string) => cancelExecution(ada, { id }),
      (id: string) => terminateExecution(ada, { id }),
    ]) {
      const id = await activate('automatic');
      await house.pass(minute);
      const longer = await extend(id);
      expect((await listAccess(ada)).access).toHaveLength(2);
      await end(id, longer);
      await house.work();
      expect([(await listAccess(ada)).access, holds()]).toEqual([[], false]);
    }
  });

  it('is not granted when the access was ended by a process that stopped before it ended the extension', async () => {
    const { house, ada, grace } = cast;
    const id = await activate();
    await house.pass(minute);
    const longer = await extend(id);
    await house.database
      .sql`update grants set ended_at = app_now(), ended_reason = 'returned' where execution_id = ${id}`;
    await approve(grace, longer);
    await house.work();
    expect([holds(), await statusOf(ada, longer)]).toEqual([true, 'faulted']);
    await house.pass(hour);
    expect(holds()).toBe(false);
  });

  it('says why it is rejected: another person, a duration that is too long or too short, an earlier end', async () => {
    const { house, ada, alan, grace, mallory } = cast;
    const id = await activate();
    await house.pass(10 * minute);
    await expect(extend(id, {}, grace)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(extend(id, {}, alan)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(extend(id, {}, mallory)).rejects.toMatchObject({ code: 'not_found' });
    await expect(extend(id, { duration: 'PT2H1M' })).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'duration', message: expect.stringContaining('PT2H') }],
    });
    await expect(extend(id, { duration: 'PT20M' })).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'duration', message: expect.stringContaining('active for another PT20M') }],
    });
    expect((await listExecutions(ada)).executions).toHaveLength(1);
  });

  it('rejects what is not active: waiting, given back, over', async () => {
    const { house, ada } = cast;
    const waiting = await ask(house, ada);
    await expect(extend(waiting)).rejects.toMatchObject({ code: 'conflict' });
    const returned = await activate();
    await returnAccess(ada, { execution_id: returned });
    await expect(extend(returned)).rejects.toMatchObject({ code: 'conflict' });
    const over = await activate();
    await house.database.advance(hour);
    await expect(extend(over)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('has one extension at a time, also when two are requested at once, and that one can be extended', async () => {
    const { house, ada, grace } = cast;
    const id = await activate();
    await house.pass(minute);
    const both = [extendElevation(ada, { id }), extendElevation(ada, { id })];
    expect((await together(both)).sort()).toEqual(['conflict', 'ok']);
    await house.work();
    const [extension] = (await listExecutions(ada)).executions.filter((each) => each.extends === id);
    await expect(extend(id)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(extension?.workflow_id ?? '-'),
    });
    await approve(grace, extension?.workflow_id ?? '');
    await house.pass(minute);
    const next = await extend(extension?.workflow_id ?? '', { duration: 'PT1H' });
    expect(await getExecution(ada, { id: next })).toMatchObject({ extends: extension?.workflow_id });
  });

  it('returns the same extension for the same idempotency key', async () => {
    const { house, ada } = cast;
    const id = await activate();
    await house.pass(minute);
    const first = await extendElevation(ada, { id, idempotencyKey: 'k' });
    expect(await extendElevation(ada, { id, idempotencyKey: 'k' })).toEqual(first);
    await expect(extendElevation(ada, { id, idempotencyKey: 'other' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(extendElevation(ada, { id, idempotencyKey: 'k', duration: 'PT1H' })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('is rejected when the role has changed: shorter, through another workflow, other access, gone', async () => {
    const { house, ada } = cast;
    const id = await activate();
    await house.pass(minute);
    await house.applyCatalog(catalogWith({}, { max_duration: 'PT10M', default_duration: 'PT10M' }));
    await expect(extend(id)).rejects.toMatchObject({ code: 'invalid' });
    await house.applyCatalog(catalogWith({}, { workflows: ['automatic'] }));
    await expect(extend(id)).rejects.toMatchObject({ code: 'invalid' });
    await house.applyCatalog(catalogWith({}, { permissions: { groups: ['others'] } }));
    await expect(extend(id)).rejects.toMatchObject({ code: 'not_found' });
    expect(holds()).toBe(true);
    expect((await listExecutions(ada)).executions).toHaveLength(1);
  });

  it('is not needed to request again: an ended request starts anew from its own terms', async () => {
    const { house, ada } = cast;
    const id = await activate('automatic');
    await house.pass(hour);
    const { role, reason, duration, providers, workflow_type } = await getExecution(ada, { id });
    const { output } = await requestElevation(ada, { role, reason, duration, providers, workflow: workflow_type.name });
    await house.work();
    expect(await getExecution(ada, { id: output.execution_id })).toMatchObject({ state: 'active', extends: null });
  });
});
