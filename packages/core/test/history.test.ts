import type { ExecutionFilter } from '@belay/contract/executions';
import { cancelExecution, getExecution, listExecutions, returnAccess } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approve,
  ask,
  type Cast,
  catalogWith,
  deny,
  hour,
  minute,
  openCast,
  type Person,
  second,
} from './support/stories.js';

let cast: Cast;
let auditor: Person;
beforeEach(async () => {
  cast = await openCast({
    catalog: {
      ...catalogWith({ brief: [{ grant: { call: 'access.grant' } }] }),
      access: { auditors: { groups: ['audit'] } },
    },
    people: ['ada', 'grace', 'alan', 'mallory', 'olga'],
  });
  auditor = await cast.house.person('olga', ['audit']);
});
afterEach(() => cast[Symbol.asyncDispose]());

const idsOf = async (person: Person, filter: ExecutionFilter & { limit?: number; cursor?: string } = {}) =>
  (await listExecutions(person, filter)).executions.map(({ workflow_id }) => workflow_id);

/** Makes one request of each kind for ada, a minute apart, and returns them in this order. */
async function story() {
  const { house, ada, grace } = cast;
  const denied = await ask(house, ada);
  await deny(grace, denied);
  await house.work();
  await house.pass(minute);
  const returned = await ask(house, ada);
  await approve(grace, returned);
  await house.work();
  await returnAccess(ada, { execution_id: returned });
  await house.pass(minute);
  const active = await ask(house, ada, { duration: 'PT1H' });
  await approve(grace, active);
  await house.work();
  await house.pass(minute);
  const open = await ask(house, ada);
  await house.pass(second);
  return { denied, returned, active, open };
}

describe('the list of requests', () => {
  it('has the running ones without a filter, and each phase by its name', async () => {
    const { denied, returned, active, open } = await story();
    expect(await idsOf(cast.ada)).toEqual([open, active]);
    expect(await idsOf(cast.ada, { status: 'open' })).toEqual([open]);
    expect(await idsOf(cast.ada, { status: 'active' })).toEqual([active]);
    expect(await idsOf(cast.ada, { status: 'past' })).toEqual([returned, denied]);
    expect(await idsOf(cast.ada, { status: 'all' })).toEqual([open, active, returned, denied]);
    expect(await idsOf(cast.ada, { status: 'completed' })).toEqual([returned, denied]);
    expect(await idsOf(cast.ada, { role: 'reader' })).toEqual([open, active, returned, denied]);
    expect(await idsOf(cast.ada, { role: 'writer' })).toEqual([]);
  });

  it('counts access that outlives its workflow as active, and as past when it is over', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'brief', duration: 'PT1H' });
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', state: 'active' });
    expect(await idsOf(ada, { status: 'active' })).toEqual([id]);
    expect(await idsOf(ada, { status: 'past' })).toEqual([]);
    await house.pass(2 * hour);
    expect(await idsOf(ada, { status: 'past' })).toEqual([id]);
  });

  it('says who decided and when access was active, also of a request by itself', async () => {
    const { denied, returned, active, open } = await story();
    const { executions } = await listExecutions(cast.ada, { status: 'all' });
    const told = new Map(executions.map((execution) => [execution.workflow_id, execution]));
    expect(told.get(active)).toMatchObject({
      user: 'ada@example.com',
      state: 'active',
      requested_at: '2026-03-01T10:02:00.000Z',
      decided_at: '2026-03-01T10:02:00.000Z',
      active_from: '2026-03-01T10:02:00.000Z',
      ends_at: '2026-03-01T11:02:00.000Z',
      ended_at: null,
      decided_by: [{ approver: 'grace@example.com', verdict: 'approve', comment: null }],
      extends: null,
    });
    expect(told.get(returned)).toMatchObject({ state: 'ended', ended_at: '2026-03-01T10:01:00.000Z' });
    expect(told.get(denied)).toMatchObject({ state: 'denied', active_from: null, ends_at: null });
    expect(told.get(denied)?.ended_at).toBe('2026-03-01T10:00:00.000Z');
    expect(told.get(open)).toMatchObject({ decided_at: null, decided_by: [], ended_at: null });
    for (const execution of executions) {
      const { requested_at, decided_at, active_from, ends_at, ended_at, decided_by } = await getExecution(cast.ada, {
        id: execution.workflow_id,
      });
      expect(execution).toMatchObject({ requested_at, decided_at, active_from, ends_at, ended_at, decided_by });
    }
  });

  it('finds words, systems, times and the beginning of an identifier', async () => {
    const { denied, returned, active, open } = await story();
    const all = [open, active, returned, denied];
    const { ada } = cast;
    expect(await idsOf(ada, { q: 'TICKET' })).toEqual(all);
    expect(await idsOf(ada, { q: 'ada@exa' })).toEqual(all);
    expect(await idsOf(ada, { q: '%' })).toEqual([]);
    expect(await idsOf(ada, { q: 'tick_t' })).toEqual([]);
    expect(await idsOf(ada, { q: open })).toEqual([open]);
    expect(await idsOf(ada, { provider: 'memory' })).toEqual(all);
    expect(await idsOf(ada, { provider: 'mem' })).toEqual([]);
    expect(await idsOf(ada, { from: '2026-03-01T10:02:00Z' })).toEqual([open, active]);
    expect(await idsOf(ada, { to: '2026-03-01T10:01:00.000Z' })).toEqual([returned, denied]);
    expect(await idsOf(ada, { from: '2026-03-01', to: '2026-03-01' })).toEqual(all);
    expect(await idsOf(ada, { from: '2026-03-02' })).toEqual([]);
  });

  it('goes on by its cursor without a gap or a repetition while requests arrive', async () => {
    const { denied, returned, active, open } = await story();
    const first = await listExecutions(cast.ada, { status: 'all', limit: 2 });
    expect(first.executions.map(({ workflow_id }) => workflow_id)).toEqual([open, active]);
    await ask(cast.house, cast.ada);
    await cancelExecution(cast.ada, { id: open });
    const second = await listExecutions(cast.ada, { status: 'all', limit: 2, cursor: first.next ?? '' });
    expect(second.executions.map(({ workflow_id }) => workflow_id)).toEqual([returned, denied]);
    expect(second.next).toBeNull();
    for (const cursor of ['x', '1.2', `${first.next}.1`, `-1.${open}`]) {
      await expect(listExecutions(cast.ada, { status: 'all', cursor })).rejects.toMatchObject({ code: 'invalid' });
    }
  });

  it('looks at a bounded number of requests for a page, and goes on behind them', async () => {
    const { denied } = await story();
    const { sql } = cast.house.database;
    await sql`insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, created_at, ended_at)
      select gen_random_uuid(), workflow, definition_digest, 1, owner_id, input || '{"reason": "filler"}', 'completed', state,
        app_now() + n * interval '1 second', app_now()
      from executions, generate_series(1, 2100) n where id = ${denied}`;
    await sql`update executions set input = input || '{"reason": "needle"}' where id = ${denied}`;
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await listExecutions(cast.ada, { q: 'needle', limit: 10, ...(cursor && { cursor }) });
      pages.push(page.executions.map(({ workflow_id }) => workflow_id));
      cursor = page.next ?? undefined;
    } while (cursor);
    expect(pages).toEqual([[], [denied]]);
  });
});

describe('who sees which requests', () => {
  it('lists what a person decided, the latest decision first, each request once', async () => {
    const { denied, returned, active } = await story();
    const { grace, alan, ada } = cast;
    expect(await idsOf(grace, { decided_by: 'me' })).toEqual([active, returned, denied]);
    expect(await idsOf(grace, { decided_by: 'me', status: 'past' })).toEqual([returned, denied]);
    expect(await idsOf(grace, { decided_by: 'me', person: 'alan@example.com' })).toEqual([]);
    expect(await idsOf(alan, { decided_by: 'me' })).toEqual([]);
    expect(await idsOf(ada, { decided_by: 'me' })).toEqual([]);
    const page = await listExecutions(grace, { decided_by: 'me', limit: 2 });
    expect(await idsOf(grace, { decided_by: 'me', limit: 2, cursor: page.next ?? '' })).toEqual([denied]);
  });

  it('shows a decided request to its approver also after they have left the group', async () => {
    const { active } = await story();
    const { house } = cast;
    const grace = await house.person('grace', []);
    expect(await idsOf(grace, { decided_by: 'me', status: 'active' })).toEqual([active]);
    expect(await getExecution(grace, { id: active })).toMatchObject({ workflow_id: active });
  });

  it('lists requests of others only for those who can see each of them', async () => {
    const { open, active, returned, denied } = await story();
    const { house, ada, alan, mallory } = cast;
    const all = [open, active, returned, denied];
    const person = 'ada@example.com';
    expect(await idsOf(alan, { person })).toEqual(all);
    expect(await idsOf(mallory, { person })).toEqual([]);
    expect(await idsOf(mallory, { person, status: 'open' })).toEqual([]);
    const automatic = await ask(house, ada, { workflow: 'automatic' });
    expect(await idsOf(alan, { person })).toEqual(all);
    expect(await idsOf(ada, { person })).toEqual([automatic, ...all]);
    expect(await idsOf(auditor, { person })).toEqual([automatic, ...all]);
    expect(await idsOf(ada, { person: 'nobody@example.com' })).toEqual([]);
  });

  it('lists the requests of everyone for auditors, and rejects others', async () => {
    const { open, active, returned, denied } = await story();
    const { house, alan, ada, mallory } = cast;
    const other = await ask(house, alan, { workflow: 'automatic' });
    expect(await idsOf(auditor, { person: 'anyone' })).toEqual([other, open, active, returned, denied]);
    expect(await idsOf(auditor, { person: 'anyone', status: 'active' })).toEqual([other, active]);
    expect(await idsOf(auditor, { person: 'anyone', status: 'open' })).toEqual([open]);
    expect(await idsOf(auditor)).toEqual([]);
    expect(await idsOf(auditor, { status: 'all' })).toEqual([]);
    for (const person of [ada, mallory]) {
      await expect(listExecutions(person, { person: 'anyone' })).rejects.toMatchObject({ code: 'forbidden' });
    }
  });

  it('names no request in a cursor that the caller may not see', async () => {
    const { house, ada, alan } = cast;
    const seen = await ask(house, ada);
    await cancelExecution(ada, { id: seen });
    const { sql } = house.database;
    await sql`insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, created_at, ended_at)
      select gen_random_uuid(), workflow, definition_digest, 1, owner_id, input, 'completed', state,
        created_at + (n - 2050) * interval '1 second', app_now()
      from executions, generate_series(1, 4100) n where id = ${seen} and n <> 2050`;
    const pages: string[][] = [];
    const cursors: string[] = [];
    for (let cursor: string | undefined; pages.length < 9; ) {
      const page = await listExecutions(alan, { person: 'ada@example.com', limit: 10, ...(cursor && { cursor }) });
      pages.push(page.executions.map(({ workflow_id }) => workflow_id));
      if (page.next === null) break;
      cursor = page.next;
      cursors.push(cursor);
    }
    expect(pages).toEqual([[], [seen], [], []]);
    const named = cursors.flatMap((cursor) => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(cursor) ?? []);
    const known = await sql`select id from executions where id in ${sql(named)} and id <> ${seen}`;
    expect([cursors.length, known.length]).toEqual([3, 0]);
    const more = listExecutions(alan, { person: 'ada@example.com', cursor: `${cursors[0]}.1` });
    await expect(more).rejects.toMatchObject({ code: 'invalid' });
  });
});
