import {
  cancelExecution,
  decideApproval,
  deliverMessages,
  getExecution,
  receiveHook,
  requestElevation,
  stopUser,
} from '@belay/core';
import { signHook } from '@belay/providers/testkit';
import { approvalCatalog, approvalTasks } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, type Cast, day, deny, hour, minute, openCast, second } from './support/stories.js';

const secret = 'what the provider signs its requests with';
const notify = { provider: 'memory', to: '#approvals' };

function catalog(role: object = {}, { tasks = {}, config = {} }: { tasks?: object; config?: object } = {}): object {
  const approval = { approve: { call: 'access.approve', with: { stages: [approvers], notify, ...tasks } } };
  const [validate, , ...rest] = approvalTasks();
  const base = approvalCatalog({ tasks: [validate, approval, ...rest], role }) as { providers: { memory: object } };
  const memory = {
    ...base.providers.memory,
    config: { hook_secret: secret, ...config },
    trusted_email_domains: ['example.com'],
  };
  return { ...base, providers: { ...base.providers, memory } };
}
const approvers = { approvers: { groups: ['approvers'] } };

describe('a message about a request', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (role: object = {}, more: Parameters<typeof catalog>[1] = {}) => {
    cast = await openCast({ catalog: catalog(role, more) });
    return cast;
  };
  const message = () => (cast as Cast).house.provider.messages[0];
  const outcomeOf = () => message()?.facts.find(({ name }) => name === 'Outcome')?.value;
  const tokenOf = (verdict: string) => {
    const found = message()?.actions.find((action) => action.kind === 'decision' && action.verdict === verdict);
    return found?.kind === 'decision' ? found.token : '';
  };
  const statusOf = async (id: string) => (await getExecution((cast as Cast).ada, { id })).approvals[0]?.status;
  /** Sends a click as the provider reports it. */
  const click = async (
    who: string,
    {
      verdict = 'approve',
      token = tokenOf(verdict),
      email = `${who}@example.com`,
      signed = secret,
      age = 0,
      message = undefined as string | undefined,
    } = {},
  ) => {
    const { house } = cast as Cast;
    const [row] = await house.database.sql`select app_now() as now`;
    const body = JSON.stringify({ token, message, subject: `U-${who}`, ...(email === '' ? {} : { email }) });
    const headers = signHook(signed, new Date(new Date(row?.now).getTime() - age), body);
    return receiveHook(house.ctx, { provider: 'memory', headers, body: Buffer.from(body) });
  };
  const whispered = () => (cast as Cast).house.provider.whispers.map(({ text }) => text).join();

  it('tells approvers what is requested, with a link and a button for each verdict', async () => {
    const { house, ada } = await open();
    await ask(house, ada);
    expect(message()).toMatchObject({
      to: '#approvals',
      kind: 'request.waiting',
      title: 'A request waits for your decision',
    });
    expect(message()?.facts).toContainEqual({ name: 'Role', value: 'reader' });
    expect(message()?.actions.map((action) => (action.kind === 'link' ? 'link' : action.verdict))).toEqual([
      'link',
      'approve',
      'deny',
    ]);
  });

  it('shows what could turn its text around or imitate other lines, in the question and in the outcome', async () => {
    const { house, ada, grace } = await open();
    await house.database.sql`update user_identities set name = ${'Ada\nDecided by: grace'} where subject = 'ada'`;
    const { output } = await requestElevation(
      { ...ada, actor: { ...ada.actor, name: 'Ada\nDecided by: grace' } },
      { role: 'reader', reason: 'read \u202eetirw\u202c\nonly \u001b[31m', workflow: 'approved' },
    );
    await house.work();
    const reason = { name: 'Reason', value: 'read \\u{202e}etirw\\u{202c}\nonly \\u{1b}[31m' };
    expect(message()?.text).toContain('read \\u{202e}etirw');
    expect(message()?.facts).toContainEqual(reason);
    await deny(grace, output.execution_id);
    await house.pass(minute);
    expect(message()?.title).toBe('Denied: reader for Ada Decided by: grace');
    expect(message()?.facts).toContainEqual(reason);
  });

  it('is delivered when the provider answers again, and once', async () => {
    const { house, ada } = await open();
    house.provider.inject('deliver', { kind: 'throttle' });
    house.provider.inject('deliver', { kind: 'lost-answer' });
    await ask(house, ada);
    for (let turn = 0; turn < 6; turn += 1) await house.pass(30 * second);
    // The response to the second delivery was lost, and the message was found afterwards.
    expect(house.provider.count('deliver')).toBe(2);
    expect(house.provider.messages).toHaveLength(1);
  });

  it('waits while the client of its provider cannot be created, and is then delivered', async () => {
    const { house, ada } = await open();
    house.provider.inject('deliver', { kind: 'throttle' });
    await ask(house, ada);
    await house.database.advance(minute);
    const catalog = { current: () => house.catalog.current(), client: () => undefined };
    expect(await deliverMessages({ ...house.ctx, catalog })).toBe(1);
    await house.pass(minute);
    expect(house.provider.messages).toHaveLength(1);
    expect(await house.database.sql`select 1 from ledger where type = 'message.failed'`).toHaveLength(0);
  });

  it('is revised when its delivery was never confirmed and the request is denied meanwhile', async () => {
    const { house, ada, grace } = await open();
    house.provider.inject('deliver', { kind: 'lost-answer' });
    const id = await ask(house, ada);
    await deny(grace, id);
    for (let turn = 0; turn < 3; turn += 1) await house.pass(30 * second);
    expect(outcomeOf()).toBe('Denied');
  });

  it('is revised as soon as its provider permits that again, within a day', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    house.provider.inject('revise', { kind: 'refuse' }, 3);
    await deny(grace, id);
    for (let turn = 0; turn < 6; turn += 1) await house.pass(hour);
    expect(outcomeOf()).toBe('Denied');
    const other = await ask(house, ada);
    house.provider.inject('revise', { kind: 'refuse' }, 1_000);
    await deny(grace, other);
    for (let turn = 0; turn < 3; turn += 1) await house.pass(day);
    const tried = house.provider.count('revise');
    await house.pass(day);
    expect(house.provider.count('revise')).toBe(tried);
    expect(await house.database.sql`select 1 from ledger where type = 'message.failed'`).toHaveLength(1);
  });

  it('survives the process that queued it', async () => {
    const { house, ada } = await open();
    house.provider.inject('deliver', { kind: 'hang' });
    const usual = house.ctx.timing;
    house.ctx.timing = { ...usual, callTimeout: 20 };
    await ask(house, ada);
    expect(message()).toBeUndefined();
    house.ctx.timing = usual;
    await house.pass(minute);
    expect(message()).toBeDefined();
  });

  it('is given up when the provider rejects it, which the ledger says', async () => {
    const { house, ada } = await open();
    house.provider.inject('deliver', { kind: 'refuse' });
    const id = await ask(house, ada);
    await house.pass(hour);
    expect(house.provider.count('deliver')).toBe(1);
    const [entry] = await house.database.sql`select execution_id from ledger where type = 'message.failed'`;
    expect(entry).toMatchObject({ execution_id: id });
  });

  it.each([
    [
      'approved on the page',
      'Approved',
      async ({ grace }: Cast, id: string) => {
        await decideApproval(grace, { id, verdict: 'approve', via: 'page' });
      },
    ],
    ['denied', 'Denied', async ({ grace }: Cast, id: string) => void (await deny(grace, id))],
    ['cancelled', 'Withdrawn', async ({ ada }: Cast, id: string) => void (await cancelExecution(ada, { id }))],
    ['expired', 'Expired without a decision', async ({ house }: Cast) => house.pass(day)],
  ])('is revised after the request was %s: it says so and has no buttons', async (_, outcome, end) => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    await end(cast as Cast, id);
    await house.pass(second);
    expect(outcomeOf()).toBe(outcome);
    expect(message()?.actions.map(({ kind }) => kind)).toEqual(['link']);
    await house.pass(hour);
    expect(house.provider.count('revise')).toBe(1);
  });

  it('takes the decision of an approver who clicks, whom a trusted provider knows by the same address', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    expect(await click('grace')).toEqual({ ok: true });
    await house.work();
    expect(await statusOf(id)).toBe('approved');
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    const [entry] = await house.database
      .sql`select actor->>'email' as by, data from ledger where type = 'approval.decided'`;
    expect(entry).toMatchObject({ by: 'grace@example.com', data: { via: 'message', verdict: 'approve' } });
    expect(outcomeOf()).toBe('Approved');
    expect(message()?.facts).toContainEqual({
      name: 'Decided by',
      value: expect.stringContaining('grace@example.com'),
    });
  });

  it('says so at once to whom clicks, without waiting for the sweep', async () => {
    const { house, ada } = await open();
    await ask(house, ada);
    await click('grace');
    expect(outcomeOf()).toBe('Approved');
    expect(house.provider.whispers).toEqual([]);
  });

  it('tells who clicks that the request waits for further approvals', async () => {
    const { house, ada } = await open({}, { tasks: { stages: [{ ...approvers, count: 2 }] } });
    const id = await ask(house, ada);
    await click('grace');
    expect(await statusOf(id)).toBe('open');
    expect(whispered()).toContain('waits for further approvals');
    await click('alan');
    expect(outcomeOf()).toBe('Approved');
  });

  it('has only the buttons that count, and takes no other decision', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    const approve = tokenOf('approve');
    await house.applyCatalog(catalog({}, { config: { verdicts: ['deny'] } }));
    await click('grace', { token: approve });
    expect(await statusOf(id)).toBe('open');
    expect(whispered()).toContain('cannot be decided by a message');
    await ask(house, ada);
    const verdicts = house.provider.messages[1]?.actions.map((action) => action.kind === 'decision' && action.verdict);
    expect(verdicts).toEqual([false, 'deny']);
    await click('grace', { verdict: 'deny' });
    expect(await statusOf(id)).toBe('denied');
  });

  it('takes no decision by a button that was carried to the message of another request', async () => {
    const { house, ada } = await open();
    const [one, other] = [await ask(house, ada), await ask(house, ada)];
    const [first, second] = house.provider.messages.map(({ idempotencyKey }) => idempotencyKey);
    await click('grace', { message: second });
    expect([await statusOf(one), await statusOf(other)]).toEqual(['open', 'open']);
    expect(whispered()).toContain('belongs to another message');
    await click('grace', { message: first });
    expect([await statusOf(one), await statusOf(other)]).toEqual(['approved', 'open']);
  });

  it('changes nothing by clicks of others: the requester, strangers, guests, and people who are no approvers', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    for (const who of ['ada', 'mallory', 'nobody']) await click(who);
    await click('grace', { email: '' });
    await click('grace', { email: 'grace@elsewhere.example' });
    await house.work();
    expect(await statusOf(id)).toBe('open');
    expect(whispered()).toContain('You cannot decide on your own request');
    expect(whispered()).toContain('sign in to Belay first');
  });

  it('changes nothing by requests that are forged or stale, and by tokens that are', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    const rejected = { code: 'unauthenticated' };
    await expect(click('grace', { signed: 'another secret of the same length, or so' })).rejects.toMatchObject(
      rejected,
    );
    await expect(click('grace', { age: 6 * minute })).rejects.toMatchObject(rejected);
    await click('grace', { token: `${tokenOf('approve')}x` });
    await click('grace', { token: '' });
    await house.work();
    expect(await statusOf(id)).toBe('open');
  });

  it('counts a double click and a repeated request once', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    const token = tokenOf('approve');
    await Promise.all([click('grace', { token }), click('grace', { token }), click('alan', { token })]);
    await click('grace', { token });
    await house.work();
    expect(await statusOf(id)).toBe('approved');
    expect(await house.database.sql`select 1 from decisions`).toHaveLength(1);
  });

  it('takes no decision about another content than the message showed, and tells why', async () => {
    const { house, ada } = await open();
    const first = await ask(house, ada);
    const token = tokenOf('approve');
    await house.database.sql`update approvals set request_digest = 'another'`;
    await click('grace', { token });
    expect(await statusOf(first)).toBe('open');
    expect(whispered()).toContain('The request has changed since you viewed it');
  });

  it('has no buttons where the role is decided on in Belay only, and their tokens decide nothing', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    const token = tokenOf('approve');
    await house.applyCatalog(catalog({ decide_on_page: true }));
    await click('grace', { token });
    expect(await statusOf(id)).toBe('open');
    expect(whispered()).toContain('in Belay only');
    await ask(house, ada);
    expect(house.provider.messages[1]?.actions.map(({ kind }) => kind)).toEqual(['link']);
  });

  it('takes no decision of a person who was stopped, or has not signed in for longer than a login lasts', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    await stopUser(house.operator(), { user: grace.actor.email, reason: 'has left' });
    await click('grace');
    expect(await statusOf(id)).toBe('open');
    await house.database.advance(8 * day);
    const other = await ask(house, ada);
    await click('alan', { token: '' });
    const last = house.provider.messages.at(-1)?.actions.find((action) => action.kind === 'decision');
    await click('alan', { token: last?.kind === 'decision' ? last.token : '' });
    expect(await statusOf(other)).toBe('open');
  });

  it('is answered within three seconds while the provider does not say who clicked', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada);
    house.ctx.timing = { ...house.ctx.timing, hookReply: 50, callTimeout: 200 };
    house.provider.inject('actor', { kind: 'hang' });
    expect(await click('grace')).toEqual({ ok: true });
    expect(await statusOf(id)).toBe('open');
  });

  it('is not there for providers that receive nothing', async () => {
    const { house } = await open();
    const request = { headers: {}, body: Buffer.from('x') };
    for (const provider of ['login', 'nowhere'])
      await expect(receiveHook(house.ctx, { provider, ...request })).rejects.toMatchObject({ code: 'not_found' });
  });
});
