import {
  type ActorContext,
  beginRestore,
  cancelExecution,
  compareRestored,
  endRun,
  extendElevation,
  getPerson,
  listAllAccess,
  openRestore,
  returnAccess,
  revokeAccess,
  startRun,
  stopUser,
  terminateExecution,
} from '@belay/core';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gateOf, someoneWaits, stopCommitsOf } from './support/gate.js';
import { withPlaces } from './support/places.js';
import {
  access,
  approve,
  ask,
  type Cast,
  catalogWith,
  minute,
  openCast,
  second,
  statusOf,
  together,
} from './support/stories.js';

/** Attacks by people who want to keep access that they hold, or that a colleague requested for them. */

const grant = { grant: { call: 'access.grant' } };
const withoutHold = { fleeting: [grant], later: [{ pause: { wait: 'PT1H' } }, grant] };
const catalog = (role: object = {}) => ({
  ...catalogWith(withoutHold, {
    max_duration: 'PT2H',
    permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
    ...role,
  }),
  access: { administrators: { groups: ['platform'] } },
});

let cast: Cast;
let olga: ActorContext;
beforeEach(async () => {
  cast = await openCast({ catalog: catalog() });
  olga = await cast.house.person('olga', ['platform']);
});
afterEach(() => cast[Symbol.asyncDispose]());

const holds = (identity = 'ada@example.com') => cast.house.provider.holds(identity, access);
const mallory = 'mallory@example.com';

describe('access that a colleague requested for an identity with a name of its own', () => {
  /** The system knows the person by an id, as most systems do. */
  beforeEach(() => {
    const known = cast.house.provider.options.people?.find(({ email }) => email === mallory);
    if (known) known.id = 'U-42';
  });

  it.each([
    ['by address, in a workflow that has ended', mallory, 'fleeting'],
    ['by address, in a workflow that holds it', mallory, 'automatic'],
    ['by id, in a workflow that has ended', 'U-42', 'fleeting'],
    ['by id, in a workflow that holds it', 'U-42', 'automatic'],
  ])('is listed and revoked as that of the person: %s', async (_, identity, workflow) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow, identities: [identity] });
    expect(holds('U-42')).toBe(true);
    expect((await listAllAccess(olga, { user: 'Mallory@example.com' })).access).toMatchObject([{ execution_id: id }]);
    expect((await getPerson(olga, { user: mallory })).access).toMatchObject([{ execution_id: id }]);
    expect(await revokeAccess(olga, { user: mallory, reason: 'an incident' })).toMatchObject({ revoked: [id] });
    await house.work();
    expect(holds('U-42')).toBe(false);
  });

  it.each(['fleeting', 'automatic'])('ends when the person is stopped, requested by id with %s', async (workflow) => {
    const { house, ada } = cast;
    await ask(house, ada, { workflow, identities: ['U-42'] });
    await stopUser(olga, { user: mallory, reason: 'has left' });
    await house.work();
    expect(holds('U-42')).toBe(false);
  });

  it('is not granted after that either, when it was requested by id and waits for approval', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada, { identities: ['U-42'] });
    await stopUser(olga, { user: mallory, reason: 'has left' });
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect([holds('U-42'), await statusOf(ada, id)]).toEqual([false, 'terminated']);
  });
});

describe('access that was requested by id and that no approver was shown', () => {
  beforeEach(() => {
    const known = cast.house.provider.options.people?.find(({ email }) => email === mallory);
    if (known) known.id = 'U-42';
  });

  it.each([
    ['the person is stopped', () => stopUser(olga, { user: mallory, reason: 'has left' })],
    [
      'an administrator ends the requests for the person',
      () => revokeAccess(olga, { user: mallory, reason: 'an incident', end_requests: true }),
    ],
  ])('is not granted later when %s while it waits', async (_, end) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'later', identities: ['U-42'] });
    await end();
    await house.pass(61 * minute);
    expect([holds('U-42'), await statusOf(ada, id)]).toEqual([false, 'terminated']);
  });
});

describe('an extension', () => {
  it('requested while grants wait after a restore ends with the access that is gone', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    await house.database.advance(minute);
    // Revoked for a reason that the restored rows do not know.
    house.provider.remove('ada@example.com', access);
    await beginRestore(house.operator(), { reason: 'a drill' });
    await house.database.advance(minute);
    const { output } = await extendElevation(ada, { id, duration: 'PT2H' });
    await house.work();
    await compareRestored(house.ctx, AbortSignal.timeout(5_000));
    await openRestore(house.operator());
    await house.pass(minute);
    expect([holds(), await statusOf(ada, output.execution_id)]).toEqual([false, 'faulted']);
  });

  it('waits for a return that is being committed, and is rejected after it', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'fleeting' });
    await house.pass(minute);
    const commits = await stopCommitsOf(house, 'grants', 'update');
    const returned = returnAccess(ada, { execution_id: id });
    await someoneWaits(house);
    const extended = extendElevation(ada, { id, duration: 'PT2H' });
    await someoneWaits(house, 2);
    await commits.release();
    expect(await together([returned, extended])).toEqual(['ok', 'conflict']);
    await house.work();
    expect(holds()).toBe(false);
  });

  it('that is being committed while its access is given back ends with it', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'fleeting' });
    await house.pass(minute);
    const commits = await stopCommitsOf(house, 'executions', 'insert');
    const extended = extendElevation(ada, { id, duration: 'PT2H' });
    await someoneWaits(house);
    // The return has a snapshot without the extension, and waits for the lock of the execution.
    const returned = returnAccess(ada, { execution_id: id });
    await someoneWaits(house, 2);
    await commits.release();
    await returned;
    const { output } = await extended;
    await house.work();
    expect([holds(), await statusOf(ada, output.execution_id)]).toEqual([false, 'cancelled']);
  });

  it.each(['automatic', 'approved'])(
    'is not granted when its access is revoked after it was planned: %s',
    async (workflow) => {
      const { house, ada, grace } = cast;
      const id = await ask(house, ada, { workflow });
      if (workflow === 'approved') await approve(grace, id);
      await house.pass(minute);
      const { output } = await extendElevation(ada, { id, duration: 'PT2H' });
      if (workflow === 'approved') {
        await house.work();
        await approve(grace, output.execution_id);
      }
      const gate = gateOf(house, 'holds');
      const working = sweep(gate.ctx).then(() => sweep(gate.ctx));
      await gate.reached;
      await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
      gate.open();
      await working;
      await house.pass(minute);
      expect([holds(), await statusOf(ada, output.execution_id)]).toEqual([false, 'faulted']);
    },
  );

  it.each(['before', 'after'] as const)(
    'leaves nothing when a worker stands still %s its call, and the access is revoked meanwhile',
    async (when) => {
      const { house, ada } = cast;
      const id = await ask(house, ada, { workflow: 'automatic' });
      await house.pass(minute);
      await extendElevation(ada, { id, duration: 'PT2H' });
      const gate = gateOf(house, 'ensurePresent', when);
      const working = sweep(gate.ctx).then(() => sweep(gate.ctx));
      await gate.reached;
      await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
      await house.work();
      gate.open();
      await working;
      for (let pass = 0; pass < 4; pass += 1) await house.pass(10 * minute);
      expect(holds()).toBe(false);
      expect((await listAllAccess(olga, {})).access).toEqual([]);
    },
  );

  it('leaves nothing behind when something else ends its access at the same moment', async () => {
    const { house, ada } = cast;
    const expected = ['ok', 'conflict', 'unauthenticated'];
    const worker = withPlaces(house.ctx, 3);
    const here = { ...ada, waker: worker.ctx.waker };
    const ways: ((run: { run_id: string; execution_id: string }) => Promise<unknown>)[] = [
      ({ execution_id }) => returnAccess(here, { execution_id }),
      ({ execution_id }) => revokeAccess(olga, { execution_id, reason: 'an incident' }),
      ({ execution_id: id }) => cancelExecution(here, { id }),
      ({ execution_id: id }) => terminateExecution(here, { id }),
      (started) => endRun(here, started),
      () => stopUser(olga, { user: 'ada@example.com', reason: 'an incident' }),
    ];
    for (const [round, end] of ways.entries()) {
      const started = await startRun(here, {
        role: 'reader',
        reason: 'a ticket',
        workflow: 'automatic',
        duration: 'PT30M',
      });
      await worker.settled();
      await house.pass(second);
      expect([round, holds()]).toEqual([round, true]);
      const extend = () => extendElevation(here, { id: started.execution_id, duration: 'PT2H' });
      const change = house.applyCatalog(catalog({ description: `May read ${round}` }));
      const outcomes = await together([extend(), end(started), house.work(), change, extend(), house.work()]);
      expect([round, outcomes[1], outcomes.filter((one) => !expected.includes(one))]).toEqual([round, 'ok', []]);
      await worker.settled();
      await house.pass(minute);
      expect([round, holds()]).toEqual([round, false]);
    }
  });
});
