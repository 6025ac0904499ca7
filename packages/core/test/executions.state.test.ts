import type { ExecutionState } from '@belay/contract/executions';
import { type Context, cancelExecution, getExecution, listExecutions, terminateExecution } from '@belay/core';
import { takeTurn } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
  request,
  staged,
} from './support/stories.js';

const failing = (title = 'It fails') => [
  { fail: { raise: { error: { type: 'https://x.example/e', status: 500, title } } } },
];

/** Holds access, and does more after twenty minutes. */
const pause = { do: [{ w: { wait: 'PT20M' } }, { more: { wait: 'PT20M' } }] };
const both = [
  { grant: { call: 'access.grant' } },
  { fork: { fork: { branches: [{ hold: { call: 'access.hold' } }, { pause }] } } },
];

let cast: Cast;
beforeEach(async () => {
  cast = await openCast({
    catalog: catalogWith({ faulty: failing(), cut: failing(`${'x'.repeat(499)}😀 and more`), both }),
  });
});
afterEach(() => cast[Symbol.asyncDispose]());

/** Returns the state of a request. Expects the same state in the list, while the request is listed. */
async function stateOf(id: string): Promise<ExecutionState> {
  const { state, end_time } = await getExecution(cast.ada, { id });
  const listed = (await listExecutions(cast.ada)).executions.find(({ workflow_id }) => workflow_id === id);
  expect(listed?.state).toBe(end_time === null ? state : undefined);
  return state;
}

describe('the state of a request', () => {
  it('says what is held: granting, active until the end, ending until it is verified, ended', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada, { duration: 'PT30M' });
    expect(await stateOf(id)).toBe('waiting_for_approval');
    await approve(grace, id);
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    await house.work();
    expect(await stateOf(id)).toBe('granting');
    await house.pass(minute);
    expect(await stateOf(id)).toBe('active');
    // The status is `waiting` because the workflow waits for the end of the access; the person does not wait.
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'waiting', state: 'active' });
    house.provider.down = true;
    await house.pass(30 * minute);
    expect(await stateOf(id)).toBe('ending');
    house.provider.down = false;
    await house.pass(hour);
    expect(await stateOf(id)).toBe('ended');
  });

  it('is waiting while access is held, also after another branch of its workflow went on', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'both', duration: 'PT1H' });
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'waiting', state: 'active' });
    await house.pass(21 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'waiting', state: 'active' });
    await house.pass(hour);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', state: 'ended' });
  });

  it('says that a request has failed when the text of its error is cut within an emoji', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'cut' });
    expect((await getExecution(ada, { id })).status).toBe('faulted');
  });

  it('tells a denial, no decision in time, a cancellation, a termination and a fault apart', async () => {
    const { house, ada, grace } = cast;
    const denied = await ask(house, ada);
    await deny(grace, denied);
    const [cancelled, terminated] = [await ask(house, ada), await ask(house, ada)];
    await cancelExecution(ada, { id: cancelled });
    await terminateExecution(ada, { id: terminated });
    const failed = await ask(house, ada, { workflow: 'faulty' });
    await house.work();
    expect(await Promise.all([denied, cancelled, terminated, failed].map(stateOf))).toEqual([
      'denied',
      'cancelled',
      'terminated',
      'failed',
    ]);
    await house.applyCatalog(staged({ timeout: 'PT1M' }));
    const silent = await ask(house, ada);
    await house.pass(2 * minute);
    expect(await stateOf(silent)).toBe('denied');
  });

  it.each([
    ['cancelled', cancelExecution],
    ['terminated', terminateExecution],
  ] as const)('is ending, not %s, as long as a call in progress may have granted', async (state, end) => {
    const { house, ada } = cast;
    const { ctx, reached, open } = gateOf(house, 'ensurePresent', 'after');
    const id = await request(ada, { workflow: 'automatic' });
    const working = untilNothingIsDue(ctx);
    await reached;
    await end(ada, { id });
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    expect(await stateAndGrants(id)).toEqual({ state: 'ending', grants: [['ended', state]] });
    open();
    await working;
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    expect(await stateAndGrants(id)).toEqual({ state, grants: [['gone', state]] });
  });

  it('is ending, not failed, as long as a call that the workflow gave up may have granted', async () => {
    const { house, ada } = cast;
    await house.applyCatalog(catalogWith({ hasty: [{ grant: { call: 'access.grant', timeout: { after: 'PT1M' } } }] }));
    const { ctx, reached, open } = gateOf(house, 'ensurePresent', 'after');
    const id = await request(ada, { workflow: 'hasty' });
    const working = untilNothingIsDue(ctx);
    await reached;
    await house.database.advance(2 * minute);
    await takeTurn(house.ctx, id);
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    expect(await stateAndGrants(id)).toEqual({ state: 'ending', grants: [['ended', 'failed']] });
    open();
    await working;
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
    expect(await stateAndGrants(id)).toEqual({ state: 'failed', grants: [['gone', 'failed']] });
  });
});

async function stateAndGrants(id: string) {
  const { state, grants } = await getExecution(cast.ada, { id });
  return { state, grants: grants.map((grant) => [grant.state, grant.ended_reason]) };
}

async function untilNothingIsDue(ctx: Context): Promise<void> {
  for (;;) {
    const { steps, entitlements } = await sweep(ctx);
    if (steps + entitlements === 0) return;
  }
}
