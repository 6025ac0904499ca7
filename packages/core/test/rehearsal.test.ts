import { AccessError } from '@belay/contract/errors';
import { type Answer, decideApproval, listInbox, rehearseFor, replayRequests, requestElevation } from '@belay/core';
import { approvalCatalog, approvalTasks, createHouse, type House } from '@belay/testkit/house';
import type { Evaluate } from '@belay/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const approve = (name: string, stage: object) => ({
  [name]: { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] }, ...stage }] } },
});
const staged = (...stages: object[]) => ({
  approve: {
    call: 'access.approve',
    with: { stages: stages.map((stage) => ({ approvers: { groups: ['approvers'] }, ...stage })) },
  },
});
const unless = (name: string) => ({
  [name]: { switch: [{ refused: { when: '${ .approved == false }', then: 'end' } }] },
});
const grant = { grant: { call: 'access.grant' } };
const day = 24 * 60 * 60_000;

interface Story {
  tasks?: unknown[];
  terms?: { duration?: string; reason?: string; identities?: string[] };
  groups?: string[];
  role?: object;
  answers?: Record<string, Answer>;
}

const approved = { verdict: 'approved' } as const;
const denied = { verdict: 'denied' } as const;
const expired = { verdict: 'expired' } as const;
const stories: [string, Story][] = [
  ['one approval', {}],
  ['a denial', { answers: { approve: denied } }],
  ['no decision in time', { answers: { approve: expired } }],
  ['a denial that the workflow ignores', { tasks: [approve('approve', {}), grant], answers: { approve: denied } }],
  ['two stages', { tasks: [approve('one', {}), unless('a'), approve('two', {}), unless('b'), grant] }],
  [
    'two stages, the second denied',
    { tasks: [approve('one', {}), unless('a'), approve('two', {}), unless('b'), grant], answers: { two: denied } },
  ],
  ['stages', { tasks: [staged({}, {}), unless('a'), grant] }],
  [
    'the second stage denied',
    { tasks: [staged({}, {}), unless('a'), grant], answers: { approve: { stages: [approved, denied] } } },
  ],
  [
    'the first stage not decided',
    { tasks: [staged({}, {}), unless('a'), grant], answers: { approve: { stages: [expired] } } },
  ],
  [
    'a second stage that only the requester could decide',
    {
      tasks: [staged({}, { approvers: { users: ['ada@example.com'] } }), grant],
      answers: { approve: { stages: [approved, expired] } },
    },
  ],
  ['a shorter grant', { tasks: [{ grant: { call: 'access.grant', with: { duration: 'PT10M' } } }] }],
  ['a longer grant than requested', { tasks: [{ grant: { call: 'access.grant', with: { duration: 'PT5H' } } }] }],
  [
    'a group that decides the way',
    {
      tasks: [{ ops: { if: '${ .user.groups | index("ops") == null }', ...approve('x', {}).x } }, grant],
      groups: ['engineers', 'ops'],
    },
  ],
  [
    'the same without the group',
    { tasks: [{ ops: { if: '${ .user.groups | index("ops") == null }', ...approve('x', {}).x } }, grant] },
  ],
  [
    'an approver who is only the requester',
    {
      tasks: [approve('approve', { approvers: { users: ['ada@example.com'] } }), grant],
      answers: { approve: expired },
    },
  ],
  [
    'a raised error',
    { tasks: [{ no: { raise: { error: { type: 'https://example.com/no', status: 403, title: 'No' } } } }, grant] },
  ],
  [
    'a caught error',
    {
      tasks: [
        {
          all: {
            try: [{ no: { raise: { error: { type: 'https://example.com/no', status: 403, title: 'No' } } } }],
            catch: { do: [grant] },
          },
        },
      ],
    },
  ],
  [
    'branches',
    { tasks: [{ both: { fork: { branches: [approve('one', {}), { pause: { wait: 'PT10M' } }] } } }, grant] },
  ],
  [
    'a time limit',
    {
      tasks: [{ approve: { ...approve('x', {}).x, timeout: { after: 'PT10M' } } }, grant],
      answers: { approve: expired },
    },
  ],
  [
    'a grant before a fault',
    { tasks: [grant, { no: { raise: { error: { type: 'https://example.com/no', status: 403, title: 'No' } } } }] },
  ],
  [
    'a grant whose duration is not valid',
    { tasks: [{ grant: { call: 'access.grant', with: { duration: '${ .reason }' } } }] },
  ],
  ['no access at all', { tasks: [{ note: { set: { seen: true } } }] }],
  [
    'an expression that fails',
    { tasks: [{ grant: { if: '${ .nothing.of | length > error("no") }', call: 'access.grant' } }] },
  ],
  ['too long a time', { terms: { duration: 'PT9H' } }],
  ['no reason where one is needed', { terms: { reason: '' } }],
  ['a person without the group', { groups: ['sales'] }],
  ['another person', { terms: { identities: ['alan@example.com'] } }],
];

/** A rehearsal must predict what a server does with the same request: both play each story. */
describe('a rehearsal', () => {
  let house: House;
  beforeAll(async () => {
    house = await createHouse();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  it.each(stories)('says what happens: %s', async (name, story) => {
    await house.applyCatalog(approvalCatalog({ tasks: story.tasks ?? approvalTasks(), role: story.role ?? {} }));
    const groups = story.groups ?? ['engineers'];
    const terms = { role: 'reader', reason: 'a ticket', workflow: 'approved', ...story.terms };
    const rehearsed = await rehearseFor(house.ctx.catalog.current(), house.ctx.evaluate, {
      person: { email: 'ada@example.com', groups, provider: 'login' },
      terms,
      at: house.ctx.clock(),
      timed: true,
      answers: story.answers ?? {},
    });
    const told = {
      granted: rehearsed.grants.map(({ duration }) => duration),
      approvals: rehearsed.approvals.map(({ users, groups, count }) => ({ users, groups, count })),
      rejected: rehearsed.result === 'rejected',
    };
    // Only the provider knows to whom an identity belongs.
    if (name === 'another person') {
      expect(rehearsed.result).toBe('unknown');
      return;
    }
    expect(rehearsed.result).not.toBe('unknown');
    expect(told).toEqual(await play(groups, terms, story.answers ?? {}));
  });

  it('is unknown for a workflow that catches one endless expression after the other', async () => {
    const slow = {
      try: [{ slow: { set: { n: '${ def f: f; f }' } } }],
      catch: { do: [{ caught: { set: { n: 1 } } }] },
    };
    const tasks = [{ again: slow }, { once: { set: { n: 2 }, then: 'again' } }];
    await house.applyCatalog(approvalCatalog({ tasks }));
    const spent: number[] = [];
    // Each expression ends after 250 ms and counts ten times as much here, so that three of them are enough, not twenty-one.
    const evaluate: Evaluate = (program, input, args, caller) => {
      const spend = (milliseconds: number) => {
        spent.push(milliseconds);
        caller?.spend?.(10 * milliseconds);
      };
      return house.ctx.evaluate(program, input, args, { executionId: '', ...caller, spend });
    };
    const rehearsed = await rehearseFor(house.ctx.catalog.current(), evaluate, {
      person: { email: 'ada@example.com', groups: ['engineers'], provider: 'login' },
      terms: { role: 'reader', reason: 'a ticket', workflow: 'approved' },
      at: house.ctx.clock(),
      timed: true,
      answers: {},
    });
    expect(rehearsed).toMatchObject({
      result: 'unknown',
      because: 'the expressions of the workflow take more than 5 seconds',
    });
    expect(spent.filter((milliseconds) => milliseconds < 200)).toEqual([]);
  });

  it('says of past requests what another configuration would have meant', async () => {
    const stage = (count: number) => approvalCatalog({ tasks: approvalTasks({ count }) });
    await house.applyCatalog(stage(1));
    const before = house.ctx.catalog.current();
    const [now] = await house.database.sql`select app_now() as now`;
    const since = now?.now as Date;
    const asking = [await house.person('ada', ['engineers']), await house.person('alan', ['engineers', 'approvers'])];
    for (const person of asking) {
      for (const workflow of ['approved', 'automatic'])
        await requestElevation(person, { role: 'reader', reason: 'a ticket', duration: 'PT8H', workflow });
      await house.pass(60_000);
    }
    await house.applyCatalog(stage(2));
    const options = { before, after: house.ctx.catalog.current(), since, limit: 100 };
    const replay = await replayRequests(house.ctx, options);
    expect(replay).toMatchObject({ count: 4, more: false, rejected: 0, otherwise: 2, more_approvals: 2, unknown: 0 });
    expect(replay.examples[0]).toMatchObject({
      requester: 'alan@example.com',
      before: 'approval by the group approvers, for PT8H',
      after: 'approval by 2 of the group approvers, for PT8H',
    });
    expect(await replayRequests(house.ctx, { ...options, limit: 3 })).toMatchObject({ count: 3, more: true });

    await house.applyCatalog(approvalCatalog({ role: { max_duration: 'PT1H' } }));
    const shorter = { ...options, after: house.ctx.catalog.current() };
    expect(await replayRequests(house.ctx, shorter)).toMatchObject({ rejected: 4, otherwise: 0, more_approvals: 0 });
  });

  async function play(
    groups: string[],
    terms: Parameters<typeof requestElevation>[1],
    answers: Record<string, Answer>,
  ) {
    const ada = await house.person('ada', groups);
    const grace = await house.person('grace', ['approvers']);
    const asked = await requestElevation(ada, terms).catch((error: unknown) => error);
    if (asked instanceof AccessError) return { granted: [], approvals: [], rejected: true };
    const { execution_id: id } = (asked as Awaited<ReturnType<typeof requestElevation>>).output;
    await house.work();
    // A person can approve only one stage.
    const henry = await house.person('henry', ['approvers']);
    while (await decideNext([grace, henry], answers)) await house.work();
    return seen(id);
  }

  /** Decides the open approval as the story requires; returns whether there was one to decide. */
  async function decideNext(approvers: Awaited<ReturnType<House['person']>>[], answers: Record<string, Answer>) {
    const [anyone] = approvers;
    const [item] = anyone ? (await listInbox(anyone)).approvals : [];
    const approver = approvers[(item?.stage ?? 1) - 1];
    if (item === undefined || approver === undefined) return false;
    const [row] = await house.database.sql`select step_key from approvals where id = ${item.id}`;
    const given = answers[String(row?.step_key).split('#')[0]?.split('/').pop() ?? ''];
    const answer = given && 'stages' in given ? given.stages[item.stage - 1] : given;
    if (answer === expired) return false;
    const verdict = answer === denied ? 'deny' : 'approve';
    await decideApproval(approver, { id: item.id, verdict, request_digest: item.request_digest, via: 'api' });
    return true;
  }

  async function seen(id: string) {
    // Lets all waits, approvals and grants end.
    for (let count = 0; count < 30; count++) await house.pass(10 * 60_000);
    await house.pass(2 * day);
    const granted = await house.database.sql`
      select extract(epoch from (expires_at - activated_at))::int as seconds from grants where execution_id = ${id}`;
    const asked = await house.database.sql`select rule from approvals where execution_id = ${id} order by created_at`;
    return {
      granted: granted.map(({ seconds }) => `PT${seconds % 3600 === 0 ? `${seconds / 3600}H` : `${seconds / 60}M`}`),
      approvals: asked.map(({ rule: { users, groups, count } }) => ({ users, groups, count })),
      rejected: false,
    };
  }
});
