import { getExecution, listApprovers, listInbox, requestElevation } from '@belay/core';
import { storeOutcome } from '@belay/engine';
import { approvalCatalog } from '@belay/testkit/house';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, describe, expect, it } from 'vitest';
import { someoneWaits } from './support/gate.js';
import {
  access,
  approve,
  ask,
  type Cast,
  deny,
  hour,
  minute,
  openCast,
  type Person,
  statusOf,
  together,
} from './support/stories.js';

const managers = { approvers: { groups: ['approvers'] }, timeout: 'PT4H' };
const security = { approvers: { groups: ['security'] }, timeout: 'PT1H' };

/** Returns a catalog whose workflow has the result of the approval as its output. */
function catalogOf(stages: object[], more: { notify?: object; role?: object; messages?: object } = {}): object {
  const { notify, role = {}, messages } = more;
  const call = { call: 'access.approve', with: { stages, ...(notify ? { notify } : {}) }, export: { as: '${ . }' } };
  const tasks = [
    { approve: call },
    { decide: { switch: [{ denied: { when: '${ $context.approved == false }', then: 'end' } }] } },
    { grant: { call: 'access.grant' } },
    { hold: { call: 'access.hold' } },
    { say: { set: '${ $context }' } },
  ];
  return { ...approvalCatalog({ tasks, role }), ...(messages ? { messages } : {}) };
}

interface Stages extends Cast {
  /** Member of the group of the second stage. */
  sam: Person;
  /** Member of both groups. */
  both: Person;
}

describe('an approval of several stages', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog = catalogOf([managers, security])): Promise<Stages> => {
    cast = await openCast({ catalog });
    const sam = await cast.house.person('sam', ['security']);
    const both = await cast.house.person('both', ['approvers', 'security']);
    return { ...cast, sam, both };
  };
  const holds = () => (cast as Cast).house.provider.holds('ada@example.com', access);
  const waiting = async (person: Person) => (await listInbox(person)).approvals.map(({ stage }) => stage);

  it('asks the second stage when the first has approved, and grants when the last has', async () => {
    const { house, ada, grace, sam } = await open();
    const id = await ask(house, ada);
    expect([await waiting(grace), await waiting(sam)]).toEqual([[1], []]);
    await expect(approve(sam, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await approve(grace, id)).toMatchObject({ status: 'approved', stage: 1, stages: 2 });
    // Immediately, without a worker.
    expect([await waiting(grace), await waiting(sam)]).toEqual([[], [2]]);
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({
      state: 'waiting_for_approval',
      approvals: [
        { stage: 1, stages: 2, status: 'approved', decisions: [{ approver: 'grace@example.com' }] },
        { stage: 2, stages: 2, status: 'open', approvers: { groups: ['security'] }, decisions: [] },
      ],
    });
    expect((await listApprovers(sam, { id })).people.map(({ email }) => email).sort()).toEqual([
      'both@example.com',
      'sam@example.com',
    ]);
    expect(holds()).toBe(false);
    await approve(sam, id);
    await house.work();
    expect(holds()).toBe(true);
    await house.pass(hour);
    await house.pass(hour);
    const { output } = await getExecution(ada, { id });
    expect(output).toEqual({
      approved: true,
      decisions: [
        { approver: 'grace@example.com', verdict: 'approve', comment: null, at: expect.any(String), stage: 1 },
        { approver: 'sam@example.com', verdict: 'approve', comment: null, at: expect.any(String), stage: 2 },
      ],
    });
  });

  it.each(['first', 'second'] as const)('is denied by the %s stage', async (which) => {
    const { house, ada, grace, sam } = await open();
    const id = await ask(house, ada);
    if (which === 'second') await approve(grace, id);
    expect(await deny(which === 'first' ? grace : sam, id)).toMatchObject({ status: 'denied' });
    await house.work();
    const execution = await getExecution(ada, { id });
    expect(execution).toMatchObject({ status: 'completed', state: 'denied', grants: [] });
    expect(execution.approvals).toHaveLength(which === 'first' ? 1 : 2);
  });

  it('counts the time of a stage from its beginning, and denies at its end', async () => {
    const { house, ada, grace, sam } = await open();
    const id = await ask(house, ada);
    await house.pass(3 * hour);
    await approve(grace, id);
    await house.pass(59 * minute);
    expect(await waiting(sam)).toEqual([2]);
    await house.pass(2 * minute);
    expect(await waiting(sam)).toEqual([]);
    await expect(approve(sam, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await getExecution(ada, { id })).toMatchObject({
      state: 'denied',
      approvals: [{ status: 'approved' }, { status: 'expired' }],
      grants: [],
    });
  });

  it('is not approved at two stages by one person, who may still deny', async () => {
    const { house, ada, both, sam } = await open();
    const id = await ask(house, ada);
    await approve(both, id);
    await house.work();
    await expect(approve(both, id)).rejects.toMatchObject({ code: 'forbidden', message: /another step/ });
    expect(await statusOf(ada, id)).toBe('waiting');
    expect(await deny(both, id)).toMatchObject({ status: 'denied', stage: 2 });
    await expect(approve(sam, id)).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect(holds()).toBe(false);
  });

  it('is never approved by the requester, who is in the group of a later stage', async () => {
    const { house, ada, grace, alan } = await open(catalogOf([managers, { approvers: { groups: ['engineers'] } }]));
    const id = await ask(house, ada);
    await approve(grace, id);
    expect([await waiting(ada), await waiting(alan)]).toEqual([[], [2]]);
    await expect(approve(ada, id)).rejects.toMatchObject({ code: 'forbidden' });
    await house.work();
    expect(holds()).toBe(false);
    await approve(alan, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('takes no decision on a stage that has ended for the one after it', async () => {
    const { house, ada, grace, alan, both } = await open();
    const id = await ask(house, ada);
    const [first] = (await listInbox(both)).approvals;
    await approve(grace, id);
    // With the id of the first stage, also by a person who could decide on the second stage.
    for (const person of [alan, both]) {
      await expect(approve(person, first?.id ?? '')).rejects.toMatchObject({ code: 'conflict' });
    }
    await house.work();
    expect((await getExecution(ada, { id })).approvals.map(({ decisions }) => decisions.length)).toEqual([1, 0]);
  });

  it('asks once, and counts each once, when all decide at once', async () => {
    const { house, ada } = await open(
      catalogOf([
        { ...managers, count: 3 },
        { ...security, count: 2 },
      ]),
    );
    const names = Array.from({ length: 12 }, (_, n) => n);
    const firsts = await Promise.all(names.map((n) => house.person(`first${n}`, ['approvers'])));
    const seconds = await Promise.all(names.map((n) => house.person(`second${n}`, ['security'])));
    const id = await ask(house, ada);
    await together([...firsts, ...seconds].map((person) => approve(person, id)));
    await together(seconds.map((person) => approve(person, id)));
    await house.work();
    const { approvals } = await getExecution(ada, { id });
    expect(approvals.map(({ stage, status, decisions }) => [stage, status, decisions.length])).toEqual([
      [1, 'approved', 3],
      [2, 'approved', 2],
    ]);
    expect(holds()).toBe(true);
    expect(await house.database.sql`select 1 from grants`).toHaveLength(1);
  });

  it('goes on as it began when the configuration has fewer stages meanwhile', async () => {
    const { house, ada, grace, sam } = await open();
    const id = await ask(house, ada);
    await house.applyCatalog(catalogOf([managers]));
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(false);
    expect(await waiting(sam)).toEqual([2]);
    await approve(sam, id);
    await house.work();
    expect(holds()).toBe(true);
  });

  it('is not held up by a process that dies right after the decision', async () => {
    const { house, ada, grace, sam } = await open();
    const id = await ask(house, ada);
    const crashpoint = (at: string) => {
      if (at === 'decided') throw new Error('killed');
    };
    await expect(approve({ ...grace, crashpoint }, id)).rejects.toThrow('killed');
    await house.pass(minute);
    await sweep(house.ctx);
    expect(await waiting(sam)).toEqual([2]);
    expect(await house.database.sql`select stage from approvals order by stage`).toMatchObject([
      { stage: 0 },
      { stage: 1 },
    ]);
    // It still ends when the second stage expires.
    await house.pass(2 * hour);
    expect((await getExecution(ada, { id })).approvals.map(({ status }) => status)).toEqual(['approved', 'expired']);
  });

  it('is not granted when a process of the version before took the first stage for the whole', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    const [row] = await house.database.sql`
      update approvals set status = 'approved', closed_at = app_now() where execution_id = ${id} returning step_key`;
    const outcome = { ok: true as const, value: { approved: true, decisions: [] } };
    await house.ctx.db.transaction(async (tx) => {
      await storeOutcome(tx, { executionId: id, key: row?.step_key as string, outcome });
    });
    await house.pass(minute);
    expect(holds()).toBe(false);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'faulted', grants: [] });
  });

  it('lets the first stage count for as long as the last one', async () => {
    const { house, ada, grace, sam } = await open({
      ...catalogOf([managers, { ...security, timeout: 'P2D' }]),
      server: { approval_lifetime: 'PT1H' },
    } as object);
    const id = await ask(house, ada);
    await approve(grace, id);
    for (let hours = 0; hours < 5; hours += 1) await house.pass(hour);
    await approve(sam, id);
    await house.work();
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id })).approvals).toHaveLength(2);
  });

  it('is requested again at each stage when it lapsed, still from two people', async () => {
    const { house, ada, grace, alan, both, sam } = await open();
    const id = await ask(house, ada);
    await approve(both, id);
    await approve(sam, id);
    house.provider.down = true;
    for (let passed = 0; passed < 2 * hour; passed += 10 * minute) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    expect((await getExecution(ada, { id })).approvals.map(({ stage, status }) => [stage, status])).toEqual([
      [1, 'approved'],
      [2, 'approved'],
      [1, 'open'],
      [2, 'open'],
    ]);
    expect([await waiting(grace), await waiting(sam), (await waiting(both)).sort()]).toEqual([[1], [2], [1, 2]]);
    const own = (await listInbox(both)).approvals;
    const idOf = (stage: number) => own.find((entry) => entry.stage === stage)?.id ?? '';
    // A person who approved the first stage can approve the first again, but not the second.
    await expect(approve(both, idOf(2))).rejects.toMatchObject({ code: 'forbidden' });
    await approve(alan, idOf(1));
    await approve(sam, idOf(2));
    await house.work();
    expect(holds()).toBe(true);
  });

  it('sends the message of the workflow for each stage that is requested again', async () => {
    const notify = { provider: 'memory', to: 'room', message: 'Look' };
    const { house, ada, grace, sam } = await open(catalogOf([managers, security], { notify }));
    const id = await ask(house, ada);
    await approve(grace, id);
    await house.work();
    await approve(sam, id);
    house.provider.down = true;
    for (let passed = 0; passed < 2 * hour; passed += 10 * minute) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    const again = await house.database.sql`
      select approvals.stage from messages join approvals on approvals.id = approval_id
      where renews is not null order by 1`;
    expect(again).toMatchObject([{ stage: 0 }, { stage: 1 }]);
  });

  it('tells the approvers of a stage when it begins, and the requester when the last was approved', async () => {
    const kinds = ['request.waiting', 'request.decided'];
    const { house, ada, grace, sam } = await open(
      catalogOf([managers, security], { messages: { channels: ['memory'], kinds } }),
    );
    const toldOf = (to: string) =>
      house.provider.messages.filter((one) => one.to === `${to}@example.com`).map(({ title }) => title);
    const id = await ask(house, ada);
    expect([toldOf('grace'), toldOf('sam'), toldOf('ada')]).toEqual([['A request waits for your decision'], [], []]);
    await approve(grace, id);
    await house.work();
    expect([toldOf('grace'), toldOf('sam'), toldOf('ada')]).toEqual([
      ['Approved (stage 1 of 2): reader for ada'],
      ['A request waits for your decision'],
      [],
    ]);
    await approve(sam, id);
    await house.work();
    expect(toldOf('ada')).toEqual(['Approved: reader']);
  });

  it('sends the message of the workflow once for each stage', async () => {
    const { house, ada, grace, sam } = await open(
      catalogOf([managers, security], { notify: { provider: 'memory', to: 'room', message: 'Look' } }),
    );
    const id = await ask(house, ada);
    await approve(grace, id);
    await house.work();
    await approve(sam, id);
    await house.work();
    const questions = house.provider.messages.filter(({ to }) => to === 'room');
    expect(new Set(questions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  });

  it('asks the third stage when a worker was at the second as it was approved', async () => {
    const engineers = { approvers: { groups: ['engineers'] }, timeout: 'PT10M' };
    const notify = { provider: 'memory', to: 'room', message: 'Look' };
    const { house, ada, grace, alan, sam } = await open(catalogOf([managers, security, engineers], { notify }));
    const id = await ask(house, ada);
    await approve(grace, id);
    // The decision and then the worker wait for the lock of the execution; the worker has already read the second stage.
    const holder = await house.database.sql.reserve();
    await holder`begin`;
    await holder`select 1 from executions where id = ${id} for update`;
    const deciding = approve(sam, id);
    await someoneWaits(house);
    const working = house.work();
    await someoneWaits(house, 2);
    await holder`commit`;
    holder.release();
    await Promise.all([deciding, working]);
    await house.work();
    expect(await waiting(alan)).toEqual([3]);
    const asked = await house.database.sql`
      select approvals.stage from messages join approvals on approvals.id = approval_id order by 1`;
    expect(asked).toMatchObject([{ stage: 0 }, { stage: 2 }]);
    await house.pass(11 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({
      state: 'denied',
      approvals: [{}, {}, { status: 'expired' }],
    });
  });

  it('is one decision of the same request under an idempotency key, and of no other stage', async () => {
    const { house, ada, both } = await open();
    const { output } = await requestElevation(ada, {
      role: 'reader',
      reason: 'a ticket',
      duration: 'PT30M',
      workflow: 'approved',
      idempotencyKey: 'once',
    });
    await house.work();
    await approve(both, output.execution_id);
    await expect(approve(both, output.execution_id)).rejects.toMatchObject({ code: 'forbidden' });
  });
});
