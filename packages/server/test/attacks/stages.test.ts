import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks on approvals of two stages: by a person who may decide at both, and with links and ids that belong to the first stage. */

const both = { users: [people.approver.email, people.bystander.email] };
const workflow = {
  document: { dsl: '1.0.3', namespace: 'test', name: 'approve-and-grant', version: '1.0.0' },
  do: [
    { approve: { call: 'access.approve', with: { stages: [{ approvers: both }, { approvers: both }] } } },
    { decide: { switch: [{ denied: { when: '${ .approved == false }', then: 'end' } }] } },
    { grant: { call: 'access.grant' } },
    { hold: { call: 'access.hold' } },
  ],
};

let world: World;
let requester: string;
let first: string;
let second: string;
beforeAll(async () => {
  const workflows = { 'approve-and-grant': { description: 'Two approvals', workflow } };
  world = await createWorld({ change: (document) => ({ ...document, workflows }) });
  requester = await world.token('requester');
  first = await world.token('approver');
  second = await world.token('bystander');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const decide = (token: string, id: string, verdict = 'approve') =>
  call('POST', `/approvals/${id}/decision`, { token, body: { verdict } });

/** Makes a request, and returns its first stage as seen by a person who may decide at both stages. */
async function ask(): Promise<{ id: string; approval: string; digest: string }> {
  const asked = await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: 'x' } });
  const { execution_id: id } = asked.json.output as { execution_id: string };
  await world.drive();
  const { json } = await call('GET', `/approvals?id=${id}`, { token: second });
  const [entry] = json.approvals as { id: string; request_digest: string; stage: number }[];
  expect(entry?.stage).toBe(1);
  return { id, approval: entry?.id ?? '', digest: entry?.request_digest ?? '' };
}

const stagesOf = async (id: string) => {
  const { approvals } = (await call('GET', `/execution/${id}`, { token: requester })).json;
  return (approvals as { status: string; decisions: object[] }[]).map(({ status, decisions }) => [
    status,
    decisions.length,
  ]);
};
const untouched = [
  ['approved', 1],
  ['open', 0],
];

describe('what was made for the first stage', () => {
  it('does not decide the second: a link, a signal, the approval by its id, and one among several', async () => {
    const { id, approval, digest } = await ask();
    const sealed = { execution_id: id, verdict: 'approve', request_digest: digest };
    const link = await call('POST', '/elevate/resume/token', { token: second, body: sealed });
    const event = { type: 'belay.approval.decided', data: { approved: true, request_digest: digest } };
    const signal = await call('POST', `/execution/${id}/signal/token`, { token: second, body: event });
    expect([link.status, signal.status]).toEqual([200, 200]);
    expect((await decide(first, approval)).json).toMatchObject({ status: 'approved', stage: 1 });
    const late = [
      await call('GET', `/elevate/resume?state=${encodeURIComponent(String(link.json.state))}`, { token: second }),
      await call('GET', `/execution/${id}/signal?input=${encodeURIComponent(String(signal.json.input))}`, {
        token: second,
      }),
      await decide(second, approval),
    ];
    expect(late.map(({ status }) => status)).toEqual([409, 409, 409]);
    const body = { verdict: 'approve', ids: [approval], request_digests: [digest] };
    const several = await call('POST', '/approvals/decisions', { token: second, body });
    expect(several.json).toMatchObject({ decided: 0, results: [{ error: { code: 'conflict' } }] });
    expect(await stagesOf(id)).toEqual(untouched);
  });

  it('does not decide it for who has approved the first, by any way and at one moment', async () => {
    const { id, approval } = await ask();
    await decide(first, approval);
    const again = await Promise.all(Array.from({ length: 8 }, () => decide(first, id)));
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([403]));
    // A second login of the same person makes no difference.
    expect((await decide(await world.token('approver', 'device'), id)).status).toBe(403);
    expect(await stagesOf(id)).toEqual(untouched);
    await world.drive();
    expect(world.store.holds(people.requester.email, { role: 'read' })).toBe(false);
  });

  it('is approved once and leads to one second stage when many approve it at one moment', async () => {
    const { id, approval } = await ask();
    const all = [first, second].flatMap((token) => [1, 2, 3, 4].map(() => decide(token, approval)));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await stagesOf(id)).toEqual(untouched);
  });
});

it('a stage that is still to come has no approval to find, to decide or to list', async () => {
  const { id } = await ask();
  const { json } = await call('GET', `/execution/${id}`, { token: requester });
  expect(json.approvals).toHaveLength(1);
  const { json: inbox } = await call('GET', `/approvals?id=${id}`, { token: first });
  expect(inbox.approvals).toHaveLength(1);
});
