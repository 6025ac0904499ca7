import {
  createKeyring,
  createSignal,
  createState,
  createTaskToken,
  getExecution,
  listInbox,
  open,
  requestElevation,
  resumeExecution,
  seal,
  signalExecution,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ask,
  type Cast,
  catalogWith,
  hour,
  minute,
  openCast,
  type Person,
  statusOf,
  together,
} from './support/stories.js';

const DECIDED = 'belay.approval.decided';
const listenFor = (type: string) => ({ listen: { to: { one: { with: { type } } } } });
const approval = (groups: string[]) => ({ call: 'access.approve', with: { stages: [{ approvers: { groups } }] } });

describe('sealed tokens', () => {
  const ring = createKeyring(['a secret for tests that is long enough']);
  const now = new Date('2026-03-01T10:00:00Z');
  const sealed = () => seal(ring, 'state', { hello: 'there' }, { now, lifetime: minute });
  const later = (milliseconds: number) => new Date(now.getTime() + milliseconds);

  it('open for their purpose, in time, and with a key of the ring', async () => {
    const token = await sealed();
    expect(await open(ring, 'state', token, later(minute - 1_000))).toEqual({ hello: 'there' });
    const rotated = createKeyring(['another secret that is long enough too', 'a secret for tests that is long enough']);
    expect(await open(rotated, 'state', token, now)).toEqual({ hello: 'there' });
    expect(token).not.toContain(Buffer.from('there').toString('base64url'));
  });

  it('open for nothing else, and all rejections look alike', async () => {
    const token = await sealed();
    const [header, key, nonce, text, tag] = token.split('.') as [string, string, string, string, string];
    const flipped = text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`;
    const stranger = createKeyring(['a secret of another person, long enough']);
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const refused = await Promise.all(
      [
        open(ring, 'signal', token, now),
        open(ring, 'oauth', token, now),
        open(ring, 'state', token, later(minute + 1_000)),
        open(ring, 'state', [header, key, nonce, flipped, tag].join('.'), now),
        open(ring, 'state', [none, key, nonce, text, tag].join('.'), now),
        open(ring, 'state', `${none}.e30.`, now),
        open(ring, 'state', '', now),
        open(stranger, 'state', token, now),
      ].map((opening) =>
        opening.then(
          () => 'opened',
          (error: { code: string; message: string }) => `${error.code} ${error.message}`,
        ),
      ),
    );
    expect(new Set(refused)).toEqual(new Set(['invalid The token is not valid or has expired']));
  });

  it('are not made from short secrets', () => {
    expect(() => createKeyring(['short'])).toThrow();
    expect(() => createKeyring([])).toThrow();
  });
});

describe('signals, links and keys', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({
      catalog: catalogWith({
        listening: [{ wait: { wait: { minutes: 5 } } }, { hear: listenFor('custom.ready') }],
        staged: [{ first: approval(['approvers']) }, { second: approval(['others']) }],
        ordered: [
          { wait: { wait: { minutes: 5 } } },
          { first: listenFor('custom.a') },
          { second: listenFor('custom.b') },
        ],
        both: [
          { either: { fork: { branches: [{ ask: approval(['approvers']) }, { hear: listenFor('custom.ready') }] } } },
        ],
      }),
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const deliver = async (person: Person, id: string, type: string, data?: never) => {
    const { input } = await createSignal(person, { id, type, data });
    return signalExecution(person, { id, input });
  };

  it('an event that comes before its listen waits for it; the same one twice is a conflict', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'listening' });
    const { input } = await createSignal(ada, { id, type: 'custom.ready', data: { n: 1 } });
    await signalExecution(ada, { id, input });
    await expect(signalExecution(ada, { id, input })).rejects.toMatchObject({ code: 'conflict' });
    expect(await statusOf(ada, id)).toBe('waiting');
    await house.pass(5 * minute);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: [{ n: 1 }] });
    const [row] = await house.database.sql`select consumed_at from signals`;
    expect(row?.consumed_at).not.toBeNull();
  });

  it('events that came in another order than they are listened for are all there', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'ordered' });
    await deliver(ada, id, 'custom.b');
    await house.database.advance(minute);
    await deliver(ada, id, 'custom.a');
    await house.pass(5 * minute);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('one of two events is taken by a listener that wants one; the other is kept and changes nothing', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'listening' });
    await deliver(ada, id, 'custom.other');
    await house.pass(5 * minute);
    expect(await statusOf(ada, id)).toBe('waiting');
    const made = await Promise.all([
      createSignal(ada, { id, type: 'custom.ready' }),
      createSignal(ada, { id, type: 'custom.ready' }),
    ]);
    expect(await together(made.map(({ input }) => signalExecution(ada, { id, input })))).toEqual(['ok', 'ok']);
    await house.work();
    expect(await statusOf(ada, id)).toBe('completed');
    const taken = await house.database
      .sql`select 1 from signals where execution_id = ${id} and type = 'custom.ready' and consumed_at is not null`;
    expect(taken).toHaveLength(1);
    await expect(deliver(ada, id, 'custom.ready')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('opens only for its person, its execution and its time', async () => {
    const { house, ada, alan, grace, mallory } = cast;
    const id = await ask(house, ada, { workflow: 'both' });
    const other = await ask(house, ada, { workflow: 'both' });
    const { input } = await createSignal(ada, { id, type: 'custom.ready' });
    await expect(signalExecution(grace, { id, input })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(signalExecution(alan, { id: other, input })).rejects.toMatchObject({ code: 'invalid' });
    await expect(signalExecution(ada, { id: other, input })).rejects.toMatchObject({ code: 'invalid' });
    await expect(createSignal(mallory, { id, type: 'custom.ready' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(signalExecution(mallory, { id, input })).rejects.toMatchObject({ code: 'not_found' });
    const state = await createState(ada, { executionId: id, verdict: 'approve', requestDigest: '' });
    await expect(signalExecution(ada, { id, input: state })).rejects.toMatchObject({ code: 'invalid' });
    await house.database.advance(hour + minute);
    await expect(signalExecution(ada, { id, input })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('the owner cannot approve by signal, and who was asked earlier has no say in what comes later', async () => {
    const { house, ada, grace, alan } = cast;
    const id = await ask(house, ada, { workflow: 'staged' });
    const decided = { approved: true } as never;
    await expect(deliver(ada, id, DECIDED, decided)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(deliver(grace, id, DECIDED, { approved: 'yes' } as never)).rejects.toMatchObject({ code: 'invalid' });
    const { input } = await createSignal(grace, { id, type: DECIDED, data: decided });
    await signalExecution(grace, { id, input });
    await expect(signalExecution(grace, { id, input })).rejects.toMatchObject({
      code: expect.stringMatching(/conflict|not_found/),
    });
    await house.work();
    await expect(deliver(alan, id, 'custom.ready')).rejects.toMatchObject({ code: 'forbidden' });
    expect((await getExecution(ada, { id })).approvals.map(({ status }) => status)).toEqual(['approved', 'open']);
  });

  it('a link decides once, for the person it was made for, on what they saw', async () => {
    const { house, ada, grace, alan } = cast;
    const id = await ask(house, ada);
    const [item] = (await listInbox(grace)).approvals;
    const link = (person: Person, requestDigest = item?.request_digest ?? '') =>
      createState(person, { executionId: id, verdict: 'approve', requestDigest });
    const state = await link(grace);
    await expect(resumeExecution(alan, { state })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(resumeExecution(ada, { state: await link(ada) })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(resumeExecution(grace, { state: await link(grace, 'another') })).rejects.toMatchObject({
      code: 'conflict',
    });
    const { input } = await createSignal(grace, { id, type: DECIDED });
    await expect(resumeExecution(grace, { state: input })).rejects.toMatchObject({ code: 'invalid' });
    expect(await resumeExecution(grace, { state })).toMatchObject({ workflow_id: id, output: { approved: true } });
    await expect(resumeExecution(grace, { state })).rejects.toMatchObject({ code: 'conflict' });
    await house.work();
    expect((await getExecution(ada, { id })).grants).toHaveLength(1);
  });

  it('a task token resumes the task that listens, once, for its person, and never decides', async () => {
    const { house, ada, grace, alan } = cast;
    const id = await ask(house, ada, { workflow: 'listening' });
    const state = await createTaskToken(ada, { executionId: id, type: 'custom.ready', data: { n: 2 } });
    // No task listens yet: the event is rejected and not stored, and the token stays valid.
    await expect(resumeExecution(ada, { state })).rejects.toMatchObject({ code: 'conflict' });
    await house.pass(5 * minute);
    await expect(resumeExecution(alan, { state })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(signalExecution(ada, { id, input: state })).rejects.toMatchObject({ code: 'invalid' });
    expect(await resumeExecution(ada, { state })).toMatchObject({ workflow_id: id, output: { approved: false } });
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: [{ n: 2 }] });
    await expect(resumeExecution(ada, { state })).rejects.toMatchObject({ code: 'conflict' });
    const asked = await ask(house, ada);
    for (const person of [ada, grace]) {
      const decision = createTaskToken(person, { executionId: asked, type: DECIDED, data: { approved: true } });
      await expect(decision).rejects.toMatchObject({ code: 'invalid' });
    }
    await expect(createTaskToken(cast.mallory, { executionId: id, type: 'x' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('an old link opens nothing', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    const state = await createState(grace, {
      executionId: id,
      verdict: 'approve',
      requestDigest: (await listInbox(grace)).approvals[0]?.request_digest ?? '',
    });
    await house.database.advance(hour + minute);
    await expect(resumeExecution(grace, { state })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('an Idempotency-Key is one request for a day, for one person, and for one body', async () => {
    const { house, ada, alan } = cast;
    const asking = { role: 'reader', reason: 'a ticket', workflow: 'automatic', idempotencyKey: 'k' };
    const run = async (person: Person, more: object = {}) =>
      (await requestElevation(person, { ...asking, ...more })).output.execution_id;
    const first = await run(ada);
    expect(await run(ada)).toBe(first);
    expect(await run(alan)).not.toBe(first);
    await expect(run(ada, { reason: 'another' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(run(ada, { duration: 'PT1H' })).rejects.toMatchObject({ code: 'conflict' });
    // A rejected request does not use up its key.
    await expect(run(ada, { idempotencyKey: 'other', duration: 'PT100H' })).rejects.toMatchObject({ code: 'invalid' });
    expect(await run(ada, { idempotencyKey: 'other' })).not.toBe(first);
    await house.pass(24 * hour);
    expect(await run(ada)).not.toBe(first);
  });
});
