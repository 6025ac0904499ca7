import { decideApprovals, getExecution, listApprovers, listInbox } from '@belay/core';
import { approvalCatalog, approvalTasks } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
import { type Asked, approve, ask, type Cast, minute, openCast, type Person, staged } from './support/stories.js';

const bulk = async (person: Person, ids: string[], change: { verdict?: 'deny'; digests?: string[] } = {}) => {
  const digests = await Promise.all(
    ids.map(async (id) => (await listInbox(person, { id })).approvals[0]?.request_digest ?? 'unknown'),
  );
  return decideApprovals(person, {
    ids,
    request_digests: change.digests ?? digests,
    verdict: change.verdict ?? 'approve',
    via: 'api',
  });
};
const codes = (answer: Awaited<ReturnType<typeof bulk>>) =>
  answer.results.map(({ status, error }) => error?.code ?? status);

describe('a bulk decision', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog: object = staged({})) => {
    cast = await openCast({ catalog });
    return cast;
  };
  const stateOf = async ({ house, ada }: Cast, id: string) => {
    await house.work();
    return (await getExecution(ada, { id })).state;
  };

  it('is one decision for each request, with a result for each', async () => {
    const cast = await open();
    const { house, ada, alan, grace } = cast;
    const ids = [await ask(house, ada), await ask(house, alan), await ask(house, ada)];
    await approve(grace, ids[2] ?? '');
    const answer = await bulk(grace, ids);
    expect(codes(answer)).toEqual(['approved', 'approved', 'conflict']);
    expect(answer).toMatchObject({ decided: 2, rejected: 1 });
    expect(answer.results[0]).toMatchObject({ id: ids[0], execution_id: ids[0], error: null });
    const [one] = (await getExecution(ada, { id: ids[0] ?? '' })).approvals;
    expect(one?.decisions).toMatchObject([{ approver: 'grace@example.com', verdict: 'approve' }]);
  });

  it.each([
    ['a longer duration', { duration: 'PT31M' }],
    ['another role', { role: 'writer' }],
  ] satisfies [string, Asked][])('with %s among them decides nothing', async (_what, other) => {
    const catalog = approvalCatalog() as { roles: Record<string, object> };
    const cast = await open({ ...catalog, roles: { ...catalog.roles, writer: { ...catalog.roles.reader } } });
    const { house, ada, grace } = cast;
    const ids = [await ask(house, ada), await ask(house, ada, other)];
    await expect(bulk(grace, ids)).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'ids' }] });
    for (const id of ids) expect(await stateOf(cast, id)).toBe('waiting_for_approval');
  });

  it('is rejected for a role that is decided on in Belay one by one', async () => {
    const cast = await open(staged({}, { decide_on_page: true }));
    const { house, ada, grace } = cast;
    const ids = [await ask(house, ada), await ask(house, ada)];
    expect((await listInbox(grace)).approvals).toMatchObject([{ decide_on_page: true }, { decide_on_page: true }]);
    await expect(bulk(grace, ids)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(bulk(grace, ids, { verdict: 'deny' })).rejects.toMatchObject({ code: 'forbidden' });
    for (const id of ids) expect(await stateOf(cast, id)).toBe('waiting_for_approval');
  });

  it('decides neither a request of the approver nor one that does not name them', async () => {
    const cast = await open();
    const { house, ada, alan, grace, mallory } = cast;
    const ids = [await ask(house, ada), await ask(house, alan)];
    const digests = (await listInbox(grace)).approvals.map(({ request_digest }) => request_digest);
    expect(codes(await bulk(alan, ids, { digests }))).toEqual(['approved', 'forbidden']);
    expect(codes(await bulk(mallory, ids, { digests }))).toEqual(['not_found', 'not_found']);
    expect((await getExecution(alan, { id: ids[1] ?? '' })).state).toBe('waiting_for_approval');
  });

  it('rejects what has changed since it was shown, and decides the rest', async () => {
    const cast = await open();
    const { house, ada, alan, grace } = cast;
    const ids = [await ask(house, ada), await ask(house, alan)];
    const [entry] = (await listInbox(grace, { id: ids[0] ?? '' })).approvals;
    const answer = await bulk(grace, ids, { digests: [entry?.request_digest ?? '', 'of something else'] });
    expect(codes(answer)).toEqual(['approved', 'conflict']);
    expect((await getExecution(alan, { id: ids[1] ?? '' })).state).toBe('waiting_for_approval');
  });

  it('counts once when it is sent twice at once', async () => {
    const { house, ada, grace } = await open();
    const ids = [await ask(house, ada), await ask(house, ada), await ask(house, ada)];
    const digests = (await listInbox(grace)).approvals.map(({ request_digest }) => request_digest);
    const sorted = (await listInbox(grace)).approvals.map(({ execution_id }) => execution_id);
    const both = await Promise.all([1, 2].map(() => bulk(grace, sorted, { digests })));
    expect(both.reduce((sum, { decided }) => sum + decided, 0)).toBe(3);
    for (const id of ids) expect((await getExecution(ada, { id })).approvals[0]?.decisions).toHaveLength(1);
  });

  it('decides nothing without its digest, and one that is named twice', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada);
    expect(codes(await bulk(grace, [id], { digests: [] }))).toEqual(['conflict']);
    await expect(bulk(grace, [id, id])).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('the order of the inbox', () => {
  it('is by turns, by age or by end, page after page, each with cursors of its own', async () => {
    await using cast = await openCast({ catalog: staged({}) });
    const { house, ada, alan, grace } = cast;
    const ids: string[] = [];
    for (const person of [ada, ada, alan, ada]) {
      ids.push(await ask(house, person));
      await house.pass(minute);
    }
    // The first request expires last.
    await house.database
      .sql`update approvals set expires_at = created_at + interval '20 hours' where execution_id = ${ids[0] ?? ''}`;
    await house.database
      .sql`update approvals set expires_at = created_at + interval '1 hour' where execution_id <> ${ids[0] ?? ''}`;
    const walk = async (sort: 'turns' | 'oldest' | 'ending') => {
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await listInbox(grace, { sort, limit: 1, ...(cursor !== undefined && { cursor }) });
        seen.push(...page.approvals.map(({ execution_id }) => ids.indexOf(execution_id)));
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      return seen;
    };
    expect(await walk('turns')).toEqual([0, 2, 1, 3]);
    expect(await walk('oldest')).toEqual([0, 1, 2, 3]);
    expect(await walk('ending')).toEqual([1, 2, 3, 0]);
    const { next } = await listInbox(grace, { sort: 'oldest', limit: 1 });
    await expect(listInbox(grace, { sort: 'ending', cursor: next ?? '' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(listInbox(grace, { cursor: next ?? '' })).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('who else can approve', () => {
  it('is named: people of the group and of the rule, without the requester, and with who has decided', async () => {
    await using cast = await openCast({
      catalog: approvalCatalog({
        tasks: approvalTasks({
          approvers: {
            groups: ['approvers', 'auditors'],
            users: ['Boss@Example.com', 'mallory@example.com', 'alan@example.com'],
          },
          count: 2,
        }),
      }),
    });
    const { house, ada, alan, grace, mallory } = cast;
    const id = await ask(house, alan);
    await approve(grace, id);
    const expected = {
      people: [
        expect.objectContaining({ email: 'grace@example.com', groups: ['approvers'], verdict: 'approve' }),
        expect.objectContaining({ email: 'mallory@example.com', groups: [], verdict: null }),
      ],
      more: false,
      unknown: { users: ['boss@example.com'], groups: ['auditors'] },
    };
    for (const person of [alan, grace, mallory]) expect(await listApprovers(person, { id })).toEqual(expected);
    await expect(listApprovers(ada, { id })).rejects.toMatchObject({ code: 'not_found' });
    // A person who has left is not listed.
    await house.database.sql`update users set deprovisioned_at = app_now() where email = 'mallory@example.com'`;
    expect((await listApprovers(alan, { id })).people).toHaveLength(1);
  });
});
