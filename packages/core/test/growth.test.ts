import {
  createSignal,
  exportLogs,
  getExecution,
  signalExecution,
  terminateExecution,
  watchExecution,
} from '@belay/core';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approve,
  ask,
  type Cast,
  catalogWith,
  hour,
  minute,
  openCast,
  request,
  runOut,
  second,
  statusOf,
} from './support/stories.js';

describe('what an execution stores', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  it('is its definition once for all executions that were started with it', async () => {
    const { house, ada, alan } = cast;
    await ask(house, ada);
    await ask(house, alan);
    await ask(house, ada, { workflow: 'automatic' });
    const { sql } = house.database;
    const rows = await sql`
      select e.workflow, e.definition, d.document -> 'document' ->> 'name' as stored
      from executions e join definitions d on d.digest = e.definition_digest order by e.workflow`;
    expect(rows.map(({ workflow, definition, stored }) => [workflow, definition, stored])).toEqual([
      ['approved', null, 'approved'],
      ['approved', null, 'approved'],
      ['automatic', null, 'automatic'],
    ]);
    expect([...(await sql`select count(*)::int as count from definitions`)]).toEqual([{ count: 2 }]);
  });

  it('is its input once, however many tasks it is handed to', async () => {
    const { house, ada } = cast;
    const { sql } = house.database;
    // The output of a wait is its input.
    await house.applyCatalog(catalogWith({ patient: [{ first: { wait: 'PT1M' } }, { second: { wait: 'PT1M' } }] }));
    const id = await ask(house, ada, { workflow: 'patient' });
    const copies = async () => {
      const [row] = await sql`select state::text from executions where id = ${id}`;
      return String(row?.state).split('a ticket').length - 1;
    };
    expect(await copies()).toBe(0);
    await house.pass(minute);
    expect(await copies()).toBe(0);
    await house.pass(minute);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'completed', output: { reason: 'a ticket' } });
  });

  it('goes on when a version before stored it, with its own definition and a whole state', async () => {
    const { house, ada, grace } = cast;
    const { sql } = house.database;
    const id = await ask(house, ada);
    await sql`
      update executions set definition = (select document from definitions where digest = definition_digest),
        definition_digest = 'of a version before',
        state = jsonb_set(state || jsonb_build_object('input', input, 'context', input), '{root,current,input}', input)
      where id = ${id}`;
    await approve(grace, id);
    await house.work();
    expect(house.provider.held()).toHaveLength(1);
    await runOut(house);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('is rejected without its definition, which the next request then stores again', async () => {
    const { house, ada } = cast;
    await ask(house, ada);
    // A database that is restored to an earlier time loses this.
    await house.database.sql`update executions set definition_digest = 'lost'`;
    await house.database.sql`delete from definitions`;
    await expect(ask(house, ada)).rejects.toThrow();
    expect(await statusOf(ada, await ask(house, ada))).toBe('waiting');
  });
});

describe('a workflow without an end', () => {
  let cast: Cast;
  const again = { then: 'tick' };
  const loops = {
    busy: [{ tick: { set: { n: 1 } } }, { tock: { set: { n: 2 }, ...again } }],
    // Many events between two waits, so that the limit of kept events is reached after few waits.
    patient: [
      { tick: { wait: 'PT1S' } },
      { items: { set: '${ [range(10)] }' } },
      { every: { for: { in: '.' }, do: [{ one: { set: { n: 1 } } }] } },
      { tock: { emit: { event: { with: { type: 'tock', source: 'urn:x' } } }, ...again } },
    ],
    listening: [
      {
        tick: { listen: { to: { one: { with: { type: 'go' } } } }, metadata: { from: { requester: true } }, ...again },
      },
    ],
  };
  beforeEach(async () => {
    // Very short turns, so that a loop that never waits takes many of them.
    cast = await openCast({ catalog: catalogWith(loops), timing: { turn: 5 } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** Returns the rows that an execution has in each table, and their bytes. */
  async function kept(id: string) {
    const tables = ['steps', 'ledger', 'task_events', 'signals'];
    const rows = await cast.house.database.sql.unsafe(
      tables
        .map(
          (
            table,
          ) => `select '${table}' as name, count(*)::int as rows, coalesce(sum(pg_column_size(one.*)), 0)::int as bytes
          from ${table} one where execution_id = '${id}'`,
        )
        .join(' union all '),
    );
    return new Map(
      rows.map(({ name, rows: count, bytes }) => [name as string, { rows: count as number, bytes: bytes as number }]),
    );
  }

  async function events(id: string): Promise<number> {
    const [row] = await cast.house.database.sql`select task_events from executions where id = ${id}`;
    return row?.task_events as number;
  }

  /** Repeats a round until the loop has had `count` task events. */
  async function until(id: string, count: number, round: () => Promise<unknown>): Promise<void> {
    while ((await events(id)) < count) await round();
  }

  it.each<[string, number, number]>([
    ['busy', 0, 3],
    ['patient', second, 1.5],
  ])('keeps no more rows the longer it goes on: %s', async (workflow, pause, longer) => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow });
    const round = async () => {
      if (pause > 0) await house.database.advance(pause);
      await sweep(house.ctx);
    };
    await until(id, 2_200, round);
    const once = await kept(id);
    const had = await events(id);
    await until(id, longer * had, round);
    const later = await kept(id);
    expect(later.get('ledger')?.rows).toBe(once.get('ledger')?.rows);
    expect(later.get('signals')?.rows).toBe(once.get('signals')?.rows);
    expect(later.get('steps')?.rows).toBeLessThanOrEqual(2);
    const before = once.get('task_events')?.rows ?? 0;
    expect(later.get('task_events')?.rows).toBeLessThanOrEqual(before + 100);
    // A row is kept whole, so up to a hundred events before the last thousand are kept with them.
    const [told] = await house.database
      .sql`select sum(jsonb_array_length(events::jsonb))::int as events from task_events where execution_id = ${id}`;
    expect(told?.events).toBeLessThanOrEqual(2_100);
    // Not compared with `before`: how many events share a row, and how well they are compressed, depends on the machine.
    expect(later.get('task_events')?.bytes).toBeLessThan(2_100 * 100);
    for (const table of ['steps', 'ledger', 'signals'])
      expect(later.get(table)?.bytes, table).toBeLessThan((once.get(table)?.bytes ?? 0) * 1.3 + 1_000);
  });

  it('keeps a bounded part of the texts that a workflow puts into its task events', async () => {
    const long = 'x'.repeat(100_000);
    const event = { type: long, source: `urn:${long}` };
    const error = { type: 'https://example.com/no', status: 500, detail: long };
    const tasks = [{ tell: { emit: { event: { with: event } } } }, { fail: { raise: { error } } }];
    await using other = await openCast({ catalog: catalogWith({ long: tasks }) });
    const id = await ask(other.house, other.ada, { workflow: 'long' });
    const [row] = await other.house.database.sql`
      select sum(length(events::text))::int as length, sum(jsonb_array_length(events))::int as events
      from task_events where execution_id = ${id}`;
    expect(row?.events).toBeGreaterThan(3);
    expect(row?.length).toBeLessThan(3_000);
  });

  it('keeps no more of the task events of a single move', async () => {
    const tasks = [
      { items: { set: '${ [range(2000)] }' } },
      { every: { for: { in: '.' }, do: [{ one: { set: { n: 1 } } }] } },
    ];
    await using other = await openCast({ catalog: catalogWith({ long: tasks }), timing: { turn: 60_000 } });
    const id = await ask(other.house, other.ada, { workflow: 'long' });
    const [row] = await other.house.database.sql`
      select e.status, e.version, e.task_events as had, sum(jsonb_array_length(t.events))::int as kept
      from executions e join task_events t on t.execution_id = e.id where e.id = ${id} group by e.id`;
    expect(row).toMatchObject({ status: 'completed', version: 1 });
    expect(row?.had).toBeGreaterThan(4_000);
    expect(row?.kept).toBe(2_000);
  });

  it('shows its first and its last thousand steps, and how many were between', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'busy' });
    await until(id, 5_000, () => sweep(house.ctx));
    await terminateExecution(ada, { id });
    const had = await events(id);
    const pages = [];
    for (
      let page = await getExecution(ada, { id });
      ;
      page = await getExecution(ada, { id, cursor: page.next ?? '' })
    ) {
      expect(page.history.length).toBeLessThanOrEqual(1_001);
      pages.unshift(page.history);
      if (page.next === null) break;
    }
    const history = pages.flat();
    const gap = history.findIndex(({ event_type }) => event_type === 'belay.history.omitted');
    const isTask = ({ event_type }: { event_type: string }) => event_type.includes('.task.');
    const first = history.slice(0, gap).filter(isTask).length;
    const last = history.slice(gap).filter(isTask).length;
    expect(first).toBe(1_000);
    expect(last).toBeGreaterThanOrEqual(1_000);
    expect(last).toBeLessThan(1_100);
    expect(history[gap]?.message).toBe(`${had - first - last} earlier task events are not kept`);
    expect(history.slice(0, 3).map(({ event_type }) => event_type)).toEqual([
      'elevation.requested',
      'io.serverlessworkflow.workflow.started.v1',
      'io.serverlessworkflow.task.started.v1',
    ]);
    expect(history.at(-1)?.event_type).toBe('execution.terminated');
    // A watcher from the start receives the same events, in order.
    const watched = [];
    for await (const event of watchExecution(ada, { id, signal: AbortSignal.timeout(20_000) })) watched.push(event);
    expect(watched.map(({ event_type }) => event_type)).toEqual(
      history.filter((_, index) => index !== gap).map(({ event_type }) => event_type),
    );
    // The logs contain the same.
    const logs = [];
    for (let next: string | null | undefined; next !== null; ) {
      const page = await exportLogs(ada, { workflow_id: id, ...(next ? { cursor: next } : {}) });
      logs.unshift(...page.logs.toReversed());
      next = page.next;
    }
    expect(logs.map(({ type }) => type)).toEqual(watched.map(({ event_type }) => event_type));
  });

  it('remembers a thousand of the signals that it took, without their content, and takes more an hour later', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'listening' });
    const go = async () => {
      const { input } = await createSignal(ada, { id, type: 'go', data: { text: 'x'.repeat(2_000) } });
      await signalExecution(ada, { id, input });
      await house.work();
      return input;
    };
    await go();
    expect((await kept(id)).get('signals')?.bytes).toBeLessThan(300);
    await house.database.sql`
      insert into signals (execution_id, source, event_id, type, event, consumed_at)
      select ${id}, source, n::text, type, event, consumed_at from signals, generate_series(1, 999) n where execution_id = ${id}`;
    await expect(go()).rejects.toMatchObject({ code: 'too_many_requests' });
    await house.database.advance(hour + second);
    const last = await go();
    expect((await kept(id)).get('signals')?.rows).toBe(1);
    await expect(signalExecution(ada, { id, input: last })).rejects.toMatchObject({ code: 'conflict' });
  });
});
