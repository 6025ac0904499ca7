import { addComment, cancelExecution, getExecution, listComments, listInbox, listLogs } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, deny, minute, openCast, type Person, staged, together } from './support/stories.js';

const say = (person: Person, id: string, text = 'why?', kind?: 'comment' | 'question' | 'answer') =>
  addComment(person, { id, text, ...(kind && { kind }) });
const textsOf = async (person: Person, id: string) =>
  (await listComments(person, { id })).comments.map(({ kind, text, author }) => [kind, author.email, text]);

describe('comments on a request', () => {
  let cast: Cast;
  let id: string;
  beforeEach(async () => {
    cast = await openCast({
      catalog: staged({}, { permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } } }),
    });
    id = await ask(cast.house, cast.ada);
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  it('go both ways, and a question is answered without holding anything up', async () => {
    const { ada, grace, house } = cast;
    const before = await getExecution(ada, { id });
    await say(grace, id, 'Which ticket?', 'question');
    expect(await listComments(ada, { id })).toMatchObject({ open_question: true, may: ['comment', 'answer'] });
    expect((await listInbox(grace)).approvals).toMatchObject([{ comments: 1, open_question: true }]);
    await say(ada, id, 'T-1');
    await say(ada, id, 'and T-2');
    expect(await textsOf(grace, id)).toEqual([
      ['question', 'grace@example.com', 'Which ticket?'],
      ['answer', 'ada@example.com', 'T-1'],
      ['comment', 'ada@example.com', 'and T-2'],
    ]);
    expect((await listInbox(grace)).approvals).toMatchObject([{ comments: 3, open_question: false }]);
    // Neither the approval nor its digest has changed, and the question stops no decision.
    await say(grace, id, 'Sure?', 'question');
    const after = await getExecution(ada, { id });
    expect(after.approvals).toEqual(before.approvals);
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'active' });
  });

  it('are in the history, and in the log of their author and of the requester', async () => {
    const { ada, grace } = cast;
    await say(grace, id, 'Which ticket?', 'question');
    const entry = { event_type: 'comment.question', message: 'grace@example.com asked: Which ticket?' };
    expect((await getExecution(ada, { id })).history).toContainEqual(expect.objectContaining(entry));
    for (const person of [ada, grace]) {
      expect((await listLogs(person, {})).logs).toContainEqual(
        expect.objectContaining({ type: 'comment.question', user: 'grace@example.com', workflow_id: id }),
      );
    }
  });

  it('are written by no one else: a stranger learns nothing, and the other side cannot speak for one', async () => {
    const { ada, grace, mallory } = cast;
    for (const known of [id, (await getExecution(ada, { id })).approvals[0]?.id ?? '']) {
      await expect(say(mallory, known)).rejects.toMatchObject({ code: 'not_found' });
      await expect(listComments(mallory, { id: known })).rejects.toMatchObject({ code: 'not_found' });
    }
    await expect(say(mallory, 'x')).rejects.toMatchObject({ code: 'not_found' });
    await expect(say(ada, id, 'x', 'question')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(say(grace, id, 'x', 'answer')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(say(ada, id, 'x', 'answer')).rejects.toMatchObject({ code: 'conflict' });
    expect(await textsOf(ada, id)).toEqual([]);
  });

  it('are written by the person elevated as well, who did not request it', async () => {
    const { house, ada, alan, mallory } = cast;
    const forAlan = await ask(house, ada, { identities: ['alan@example.com'] });
    // Alan is in the group of the approvers, and would count as an approver otherwise.
    expect(await listComments(alan, { id: forAlan })).toMatchObject({ may: ['comment'] });
    expect(await say(alan, forAlan, 'I need it')).toMatchObject({ kind: 'comment' });
    await expect(say(mallory, forAlan)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are open to those who decided, and only to read to approvers whom no open approval names', async () => {
    const { house, ada, grace, alan } = cast;
    await approve(grace, id);
    await house.work();
    expect(await say(grace, id, 'give it back by noon')).toMatchObject({ kind: 'comment' });
    await expect(say(alan, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await listComments(alan, { id })).toMatchObject({ comments: [{ text: 'give it back by noon' }], may: [] });
    await cancelExecution(ada, { id });
    await house.work();
    for (const person of [ada, grace]) await expect(say(person, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await listComments(ada, { id })).toMatchObject({ comments: [{}], may: [] });
  });

  it('cannot be written after a denial has ended the request', async () => {
    const { house, ada, grace } = cast;
    await deny(grace, id);
    await house.work();
    await expect(say(ada, id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('keep HTML and the escapes of terminals as text, and reject what cannot be stored or is empty', async () => {
    const { ada } = cast;
    const nasty = '<script>alert(1)</script>\u001b[2J\u202E';
    await say(ada, id, nasty);
    expect((await listComments(ada, { id })).comments[0]?.text).toBe(nasty);
    for (const text of ['', ' \n ', 'a\0b', '\uD800', 'x'.repeat(2_001)]) {
      await expect(say(ada, id, text)).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('are limited for one person: of 20 that come at once, ten are written', async () => {
    const { ada, grace, house } = cast;
    const tried = await together(Array.from({ length: 20 }, (_, index) => say(ada, id, `no. ${index}`)));
    expect(tried.filter((one) => one === 'ok')).toHaveLength(10);
    expect(new Set(tried)).toEqual(new Set(['ok', 'too_many_requests']));
    // The limit does not count for others, and a minute later the person can write again.
    expect(await say(grace, id)).toMatchObject({ kind: 'comment' });
    await house.pass(minute);
    expect(await say(ada, id)).toMatchObject({ kind: 'comment' });
  });

  it('are limited on one request to a hundred of each person', async () => {
    const { ada, house } = cast;
    const { sql } = house.database;
    await sql`insert into comments (id, execution_id, author_id, kind, text, created_at)
      select gen_random_uuid(), ${id}, ${ada.actor.id}, 'comment', 'x', app_now() - interval '1 hour'
      from generate_series(1, 100)`;
    await expect(say(ada, id)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('100') });
  });

  it('are paged, oldest first, by cursors of their list only', async () => {
    const { ada } = cast;
    for (const text of ['1', '2', '3', '4', '5']) await say(ada, id, text);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { comments, next } = await listComments(ada, { id, limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...comments.map(({ text }) => text));
      cursor = next ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(['1', '2', '3', '4', '5']);
    for (const wrong of ['x', '1.2', `1.${id}.2`]) {
      await expect(listComments(ada, { id, cursor: wrong })).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('wait for no lock that a decision holds the other way round', async () => {
    const { grace, ada } = cast;
    const done = await together([
      ...Array.from({ length: 5 }, () => say(grace, id)),
      approve(grace, id),
      ...Array.from({ length: 4 }, () => say(ada, id)),
    ]);
    expect(new Set(done)).toEqual(new Set(['ok']));
  });
});

describe('the other side of a request', () => {
  it('is told of a question, of its answer and of nothing that it wrote itself', async () => {
    await using cast = await openCast({
      catalog: { ...approvalCatalog(), messages: { channels: ['memory'], kinds: ['request.comment'] } },
    });
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    await say(ada, id, 'It is urgent');
    await say(grace, id, 'Which ticket?', 'question');
    // A worker turns notices into messages, and delivers them.
    await house.pass(minute);
    await say(ada, id, 'T-1');
    await house.pass(minute);
    expect(house.provider.messages.map(({ to, text }) => [to, text])).toEqual([
      ['ada@example.com', 'grace asks: Which ticket?'],
      ['grace@example.com', 'ada answered: T-1'],
    ]);
    expect(house.provider.messages[0]).toMatchObject({
      kind: 'request.comment',
      title: 'A comment on reader',
      actions: [{ kind: 'link', url: `http://127.0.0.1:8080/requests/${id}` }],
    });
  });

  it('is not told of what it could not read in Belay: after leaving the group, or the company', async () => {
    await using cast = await openCast({
      catalog: { ...approvalCatalog(), messages: { channels: ['memory'], kinds: ['request.comment'] } },
    });
    const { house, ada, grace, alan } = cast;
    const walt = await house.person('walt', ['approvers']);
    const id = await ask(house, ada);
    for (const approver of [grace, alan, walt]) await say(approver, id, 'Which ticket?');
    await house.pass(minute);
    await house.person('walt', []);
    await house.database.sql`update users set deprovisioned_at = app_now() where id = ${alan.actor.id}`;
    await say(ada, id, 'T-1');
    await house.pass(minute);
    const told = house.provider.messages.filter(({ text }) => text.includes('T-1'));
    expect(told.map(({ to }) => to)).toEqual(['grace@example.com']);
  });

  it('is not told where the configuration names no channel: no notice is written', async () => {
    await using cast = await openCast();
    const id = await ask(cast.house, cast.ada);
    await say(cast.grace, id, 'Which ticket?', 'question');
    expect(await cast.house.database.sql`select 1 from notices`).toEqual([]);
  });
});
