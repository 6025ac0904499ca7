import { seal } from '@belay/core';
import { send } from '@belay/testkit/serve';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const path = '/api/v1/elevate/resume';
let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Waiting {
  id: string;
  state: string;
  approver: string;
}

/** Makes a request that waits for the approver, and returns it with the state that would approve it. */
async function waiting(): Promise<Waiting> {
  const token = await world.token('requester');
  const asked = await callRest(world.url, 'POST', '/elevate', {
    token,
    body: { role: 'reader', reason: 'An incident' },
  });
  const id = (asked.json.output as { execution_id: string }).execution_id;
  await world.drive();
  const approver = await world.token('approver');
  return { id, state: await stateFor(approver, id), approver };
}

async function stateFor(token: string, id: string): Promise<string> {
  const shown = await callRest(world.url, 'GET', `/execution/${id}`, { token });
  const [approval] = shown.json.approvals as { request_digest: string }[];
  const body = { execution_id: id, verdict: 'approve', request_digest: approval?.request_digest };
  const sealed = await callRest(world.url, 'POST', '/elevate/resume/token', { token, body });
  return sealed.json.state as string;
}

interface Attempt {
  token: string;
  query?: string;
  body?: string;
  type?: string;
  accept?: string;
}

async function resume(method: 'GET' | 'POST', { token, query = '', body, type, accept }: Attempt) {
  const answer = await send(`${world.url}${path}${query}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(accept === undefined ? {} : { accept }),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return { ...answer, json: isJson ? (JSON.parse(answer.body) as Record<string, unknown>) : {} };
}

describe('the forms of a resume (docs/interface.md, section 3)', () => {
  const forms: [string, (waiting: Waiting) => Parameters<typeof resume>][] = [
    ['GET with state', ({ state, approver }) => ['GET', { token: approver, query: `?state=${state}` }]],
    ['POST with state in the query', ({ state, approver }) => ['POST', { token: approver, query: `?state=${state}` }]],
    [
      'POST with state in the query, with any body',
      ({ state, approver }) => ['POST', { token: approver, query: `?state=${state}`, body: 'x', type: 'text/plain' }],
    ],
    ...[
      'text/plain',
      'text/plain; charset=utf-8',
      'application/octet-stream',
      'application/jose',
      'application/x-www-form-urlencoded',
    ].map((type): [string, (waiting: Waiting) => Parameters<typeof resume>] => [
      `POST with the raw state as ${type}`,
      ({ state, approver }) => ['POST', { token: approver, body: `${state}\n`, type }],
    ]),
    [
      'POST with the state as a form’s field',
      ({ state, approver }) => [
        'POST',
        { token: approver, body: `state=${state}`, type: 'application/x-www-form-urlencoded' },
      ],
    ],
  ];

  it.each(forms)('%s answers 307 to the execution', async (_name, attempt) => {
    const made = await waiting();
    const answer = await resume(...attempt(made));
    expect([answer.status, answer.headers.location]).toEqual([307, `/api/v1/execution/${made.id}`]);
  });

  it.each(['GET', 'POST'] as const)('%s answers JSON when `Accept` names it', async (method) => {
    const { id, state, approver } = await waiting();
    const answer = await resume(method, { token: approver, query: `?state=${state}`, accept: 'application/json' });
    expect([answer.status, answer.json]).toEqual([
      200,
      { workflow_id: id, status: 'completed', output: { approved: true, session_created: false } },
    ]);
  });
});

describe('what resumes nothing', () => {
  const everywhere: ((state: string) => [method: 'GET' | 'POST', given: Omit<Attempt, 'token'>])[] = [
    (state) => ['GET', { query: `?state=${encodeURIComponent(state)}` }],
    (state) => ['POST', { query: `?state=${encodeURIComponent(state)}` }],
    (state) => ['POST', { body: state, type: 'text/plain' }],
  ];
  const refuse = async (token: string, state: string, status: number) => {
    for (const way of everywhere) {
      const [method, given] = way(state);
      const answer = await resume(method, { token, ...given });
      expect([method, answer.status]).toEqual([method, status]);
    }
  };
  const stillWaits = async ({ id }: Waiting) => {
    const token = await world.token('requester');
    expect((await callRest(world.url, 'GET', `/execution/${id}`, { token })).json.status).toBe('waiting');
  };
  const sealed = async ({ id }: Waiting, purpose: 'state' | 'task' | 'signal' | 'session', more: object = {}) => {
    const person = await callRest(world.url, 'GET', '/auth/whoami', { token: await world.token('approver') });
    const seen = { requestDigest: 'x', madeAt: new Date().toISOString() };
    const payload = { executionId: id, userId: person.json.id, verdict: 'approve', ...seen, ...more };
    return seal(world.context.keyring, purpose, payload, { now: new Date(), lifetime: 60_000 });
  };

  it('a state that was replayed: 409, and decided once', async () => {
    const made = await waiting();
    expect((await resume('POST', { token: made.approver, body: made.state, type: 'text/plain' })).status).toBe(307);
    await refuse(made.approver, made.state, 409);
  });

  it('a state of another person: 403 for every other caller', async () => {
    const made = await waiting();
    await refuse(await world.token('requester'), made.state, 403);
    await refuse(await world.token('bystander'), made.state, 403);
    await stillWaits(made);
  });

  it('the requester’s own state: 403, because a requester cannot decide', async () => {
    const made = await waiting();
    const requester = await world.token('requester');
    await refuse(requester, await stateFor(requester, made.id), 403);
    await stillWaits(made);
  });

  it('a state without a login: 401', async () => {
    const made = await waiting();
    const answer = await send(`${world.url}${path}?state=${made.state}`, { headers: { accept: 'application/json' } });
    expect(answer.status).toBe(401);
    await stillWaits(made);
  });

  it('a state that was tampered with, cut, or never sealed by us: 400', async () => {
    const made = await waiting();
    const parts = made.state.split('.');
    const text = parts[3] ?? '';
    const flipped = `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
    for (const state of [
      [...parts.slice(0, 3), flipped, parts[4]].join('.'),
      parts.slice(0, 4).join('.'),
      `${made.state}x`,
      Buffer.from(JSON.stringify({ executionId: made.id, verdict: 'approve' })).toString('base64url'),
      'null',
      '../../etc/passwd',
    ]) {
      await refuse(made.approver, state, 400);
    }
    await stillWaits(made);
  });

  it('a state that has expired: 400', async () => {
    const made = await waiting();
    const past = { now: new Date(Date.now() - 7_200_000), lifetime: 60_000 };
    const payload = { executionId: made.id, userId: 'x', verdict: 'approve', requestDigest: 'x' };
    await refuse(made.approver, await seal(world.context.keyring, 'state', payload, past), 400);
    await stillWaits(made);
  });

  it('a token of another purpose, or with another purpose’s content: 400', async () => {
    const made = await waiting();
    await refuse(made.approver, await sealed(made, 'signal'), 400);
    await refuse(made.approver, await sealed(made, 'session'), 400);
    await refuse(made.approver, await sealed(made, 'task'), 400);
    await refuse(made.approver, await sealed(made, 'state', { verdict: 'grant' }), 400);
    await stillWaits(made);
  });

  it('a decision on something else than is asked now: 409', async () => {
    const made = await waiting();
    await refuse(made.approver, await sealed(made, 'state'), 409);
    await stillWaits(made);
  });

  it('nothing at all, twice the same, or a file: 4xx', async () => {
    const token = await world.token('approver' satisfies Person);
    expect((await resume('GET', { token })).status).toBe(400);
    expect((await resume('POST', { token })).status).toBe(400);
    expect((await resume('POST', { token, body: ' ', type: 'text/plain' })).status).toBe(400);
    expect((await resume('GET', { token, query: '?state=a&state=b' })).status).toBe(400);
    expect((await resume('POST', { token, body: 'x', type: 'multipart/form-data; boundary=x' })).status).toBe(415);
  });

  it('a token for a decision and an event at once, or for neither: 400', async () => {
    const { id, approver: token } = await waiting();
    const event = { type: 'custom.ready' };
    for (const body of [
      { execution_id: id },
      { execution_id: id, verdict: 'approve' },
      { execution_id: id, verdict: 'approve', request_digest: 'x', event },
      { execution_id: id, event: { type: 'belay.approval.decided', data: { approved: true } } },
    ]) {
      const answer = await callRest(world.url, 'POST', '/elevate/resume/token', { token, body });
      expect([JSON.stringify(body), answer.status]).toEqual([JSON.stringify(body), 400]);
    }
  });
});
