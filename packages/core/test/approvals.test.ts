import { decideApproval, getExecution, listInbox, requestElevation, upsertUser, withActor } from '@belay/core';
import { approvalTasks, newId } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
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
const stage = (more: object = {}) => ({
  call: 'access.approve',
  with: { stages: [{ approvers: { groups: ['approvers'] }, ...more }] },
});
const grant = { grant: { call: 'access.grant' } };
const hold = { hold: { call: 'access.hold' } };

describe('approvals', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog: unknown) => {
    cast = await openCast({ catalog });
    return cast;
  };
  const holds = () => cast?.house.provider.holds('ada@example.com', access);

  it('two of a group: one is not enough, and one person is not two', async () => {
    const { house, ada, grace, alan } = await open(staged({ count: 2 }));
    const id = await ask(house, ada);
    expect(await approve(grace, id)).toMatchObject({ status: 'open' });
    await house.work();
    expect(await statusOf(ada, id)).toBe('waiting');
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    // The same person, with a second sign-in through another provider.
    const twin = await upsertUser(house.database.db, {
      ...grace.actor,
      id: newId(),
      provider: 'other',
      subject: 'another',
      email: 'Grace@example.com',
    });
    const other = withActor(house.ctx, { kind: 'user', ...twin, loginId: grace.actor.loginId });
    await expect(approve(other, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(holds()).toBe(false);
    expect(await approve(alan, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(holds()).toBe(true);
    expect((await getExecution(ada, { id })).approvals[0]?.decisions.map(({ approver }) => approver)).toEqual([
      'grace@example.com',
      'alan@example.com',
    ]);
  });

  it('takes two denials, when the rule says two', async () => {
    const { house, ada, grace, alan } = await open(staged({ count: 1, refusals: 2 }));
    const first = await ask(house, ada);
    expect(await deny(grace, first)).toMatchObject({ status: 'open' });
    expect(await deny(alan, first)).toMatchObject({ status: 'denied' });
    const second = await ask(house, ada);
    await deny(grace, second);
    expect(await approve(alan, second)).toMatchObject({ status: 'approved' });
  });

  it('knows an approver by their address in any case, and no one by a part of it', async () => {
    const { house, ada, grace, alan } = await open(staged({ approvers: { users: ['GRACE@Example.com'] } }));
    const id = await ask(house, ada);
    expect((await listInbox(grace)).approvals).toHaveLength(1);
    expect((await listInbox(alan)).approvals).toEqual([]);
    await expect(approve(alan, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
  });

  it('lets no person decide who would be elevated, also when another person requested it', async () => {
    const { house, ada, grace, alan } = await open(
      staged({}, { permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } } }),
    );
    const id = await ask(house, ada, { identities: ['grace@example.com'] });
    expect((await listInbox(grace)).approvals).toEqual([]);
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await listInbox(alan)).approvals).toMatchObject([{ grants: [{ identity: 'grace@example.com' }] }]);
    await approve(alan, id);
    await house.work();
    expect(house.provider.holds('grace@example.com', access)).toBe(true);
    expect(holds()).toBe(false);
    // Only delegates can request access for others, and no one for an unknown person.
    const alone = { role: 'reader', reason: 'r', workflow: 'approved' };
    await expect(requestElevation(alan, { ...alone, identities: ['grace@example.com'] })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(requestElevation(ada, { ...alone, identities: ['nobody@example.com'] })).rejects.toMatchObject({
      code: 'invalid',
    });
  });

  it('grants for a shorter time than was approved, never for a longer', async () => {
    const tasks = (duration: string) => [
      { approve: stage() },
      { grant: { call: 'access.grant', with: { duration } } },
      hold,
    ];
    const { house, ada, grace } = await open(catalogWith({ shorter: tasks('PT10M'), longer: tasks('PT4H') }));
    for (const [workflow, end] of [
      ['shorter', 10],
      ['longer', 30],
    ] as const) {
      const id = await ask(house, ada, { workflow, duration: 'PT30M' });
      await approve(grace, id);
      await house.work();
      await house.pass(end * minute - 1);
      expect(holds()).toBe(true);
      await house.pass(1);
      expect(holds()).toBe(false);
      await runOut(house);
    }
  });

  it('rejects the grant after a denial, when the author forgot the switch', async () => {
    const { house, ada, grace } = await open(catalogWith({ careless: [{ approve: stage() }, grant, hold] }));
    const refused = await ask(house, ada, { workflow: 'careless' });
    await deny(grace, refused);
    await house.work();
    expect(await getExecution(ada, { id: refused })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      grants: [],
    });
    const silent = await ask(house, ada, { workflow: 'careless' });
    await house.pass(24 * hour);
    expect(await getExecution(ada, { id: silent })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      grants: [],
    });
  });

  it('takes two approvals in one workflow, and a single denial', async () => {
    const second = { call: 'access.approve', with: { stages: [{ approvers: { users: ['alan@example.com'] } }] } };
    const { house, ada, grace, alan } = await open(
      catalogWith({ twice: [{ first: stage() }, { second }, grant, hold] }),
    );
    const id = await ask(house, ada, { workflow: 'twice' });
    await approve(grace, id);
    await house.work();
    expect(holds()).toBe(false);
    // The approver of the first step cannot decide on the second.
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'not_found' });
    await approve(alan, id);
    await house.work();
    expect(holds()).toBe(true);
    const other = await ask(house, ada, { workflow: 'twice' });
    await approve(alan, other);
    await house.work();
    await deny(alan, other);
    await house.work();
    expect(await getExecution(ada, { id: other })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      grants: [],
    });
  });

  it('withdraws an approval whose task timed out: no one can give it later, and nothing is granted on it', async () => {
    const guarded = {
      try: [{ approve: { ...stage(), timeout: { after: 'PT10M' } } }],
      catch: { do: [{ note: { set: { late: true } } }] },
    };
    const { house, ada, grace } = await open(catalogWith({ hasty: [{ guarded }, grant, hold] }));
    const id = await ask(house, ada, { workflow: 'hasty' });
    expect((await listInbox(grace)).approvals).toHaveLength(1);
    await house.pass(10 * minute);
    expect((await listInbox(grace)).approvals).toEqual([]);
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      approvals: [{ status: 'withdrawn' }],
      grants: [],
    });
  });

  it('withdraws what the losing branch of a fork asked', async () => {
    const branches = [{ approve: stage() }, { soon: { wait: { minutes: 5 } } }];
    const { house, ada, grace } = await open(
      catalogWith({ forked: [{ either: { fork: { compete: true, branches } } }, grant, hold] }),
    );
    const id = await ask(house, ada, { workflow: 'forked' });
    await house.pass(5 * minute);
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      approvals: [{ status: 'withdrawn' }],
      grants: [],
    });
  });

  it('finds the approval that asks this person, when two are open at once', async () => {
    const second = { call: 'access.approve', with: { stages: [{ approvers: { users: ['alan@example.com'] } }] } };
    const first = { call: 'access.approve', with: { stages: [{ approvers: { users: ['grace@example.com'] } }] } };
    const { house, ada, grace, alan } = await open(
      catalogWith({ parallel: [{ both: { fork: { branches: [{ first }, { second }] } } }, grant, hold] }),
    );
    const id = await ask(house, ada, { workflow: 'parallel' });
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
    expect(await approve(alan, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(holds()).toBe(true);
  });

  it('grants nothing while another branch still waits for its approval', async () => {
    const branches = [{ approve: stage() }, { later: { do: [{ pause: { wait: { minutes: 5 } } }, grant] } }];
    const { house, ada } = await open(catalogWith({ side: [{ both: { fork: { branches } } }] }));
    const id = await ask(house, ada, { workflow: 'side' });
    await house.pass(6 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED },
      grants: [],
    });
  });

  it('decides for exactly what was shown: another digest, a late and a second answer are rejected', async () => {
    const { house, ada, grace } = await open(staged({ timeout: 'PT10M' }));
    const id = await ask(house, ada);
    const decide = (request_digest?: string) =>
      decideApproval(grace, { id, verdict: 'approve', request_digest, via: 'api' });
    await expect(decide('another')).rejects.toMatchObject({ code: 'conflict' });
    await house.database.advance(10 * minute);
    await expect(decide()).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect((await getExecution(ada, { id })).approvals).toMatchObject([{ status: 'expired', decisions: [] }]);
  });

  it('is never decided by its requester, by whichever rule they are named', async () => {
    const { house, ada, alan } = await open(
      staged({ approvers: { users: ['alan@example.com'], groups: ['approvers', 'engineers'] } }),
    );
    const id = await ask(house, alan);
    await expect(approve(alan, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await listInbox(alan)).approvals).toEqual([]);
    // Nor under an address that the requester received later.
    const renamed = withActor(house.ctx, { ...alan.actor, email: 'turing@example.com' });
    await expect(approve(renamed, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await listInbox(renamed)).approvals).toEqual([]);
    expect(await approve(ada, id)).toMatchObject({ status: 'approved' });
    const [row] = await house.database
      .sql`select count(*)::int as own from decisions d join approvals a on a.id = d.approval_id
      join executions e on e.id = a.execution_id where e.owner_id = d.approver_id`;
    expect(row?.own).toBe(0);
  });

  it('a workflow can be told apart by who approved it: the output lists the decisions', async () => {
    const { house, ada, grace } = await open(catalogWith({ telling: [...approvalTasks().slice(0, 2)] }));
    const id = await ask(house, ada, { workflow: 'telling' });
    await decideApproval(grace, { id, verdict: 'approve', comment: 'fine', via: 'page' });
    await house.work();
    expect((await getExecution(ada, { id })).output).toMatchObject({
      approved: true,
      decisions: [{ approver: 'grace@example.com', verdict: 'approve', comment: 'fine' }],
    });
  });
});
