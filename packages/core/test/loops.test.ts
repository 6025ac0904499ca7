import { type Context, createTaskToken, type Job, resumeExecution } from '@belay/core';
import { openDatabase } from '@belay/db';
import { findDueSteps, performStep, TURN } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cast, catalogWith, openCast, request, statusOf } from './support/stories.js';

const laps = 40;
/** A loop with one expression per lap, which ends after `laps` laps. */
const loop = [
  { start: { set: { n: 0 } } },
  { count: { set: { n: '${ .n + 1 }' } } },
  { more: { switch: [{ over: { when: `.n == ${laps}`, then: 'exit' } }, { again: { then: 'count' } }] } },
];
const hear = { listen: { to: { one: { with: { type: 'ready' } } } }, metadata: { from: { requester: true } } };
const computed = { do: [{ first: { set: { n: 1 } } }, { last: { set: { n: '${ .n + 1 }' } } }] };
const plain = (count: number) => Array.from({ length: count }, (_, n) => ({ [`set${n}`]: { set: { n: '${ .n }' } } }));

/** Opens a separate process on the database of a cast, which counts its evaluations, and its statements outside transactions. */
function openProcess({ house }: Cast, parts: { isWanted?: () => boolean; meanwhile?: (nth: number) => Promise<void> }) {
  const heard: string[] = [];
  const jobs: Job[] = [];
  let evaluations = 0;
  const client = openDatabase(house.database.url, { max: 5, onStatement: (_, statement) => heard.push(statement) });
  const ctx: Context = {
    ...house.ctx,
    db: client.db,
    waker: { wake: (sent) => void jobs.push(...sent), ...(parts.isWanted && { isWanted: parts.isWanted }) },
    async evaluate(...given) {
      evaluations += 1;
      await parts.meanwhile?.(evaluations);
      return house.ctx.evaluate(...given);
    },
  };
  return {
    ctx,
    jobs,
    heard,
    evaluations: () => evaluations,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

describe('a loop of an execution', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({
      catalog: catalogWith({
        loop,
        endless: [{ count: { set: { n: '${ (.n // 0) + 1 }' }, then: 'count' } }],
        beside: [{ both: { fork: { branches: [{ hear }, { computed }] } } }],
        one: plain(1),
        many: plain(300),
      }),
      // Each turn ends after its first task.
      timing: { turn: 0 },
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const versionOf = async (id: string) => {
    const [row] = await cast.house.database.sql`select version from executions where id = ${id}`;
    return Number(row?.version);
  };

  it('goes on in the process that computes it, without a job, while no other work waits', async () => {
    await using here = openProcess(cast, { isWanted: () => false });
    const id = await request(cast.ada, { workflow: 'loop' });
    await performStep(here.ctx, { executionId: id, key: TURN });
    expect(await statusOf(cast.ada, id)).toBe('completed');
    expect([here.evaluations(), here.jobs]).toEqual([laps, []]);
  });

  it('ends its turn with one job when other work waits', async () => {
    await using here = openProcess(cast, { isWanted: () => here.evaluations() >= 2 });
    const id = await request(cast.ada, { workflow: 'endless' });
    await performStep(here.ctx, { executionId: id, key: TURN });
    expect([here.evaluations(), here.jobs]).toEqual([2, [{ queue: 'executions', executionId: id, key: TURN }]]);
    await performStep(here.ctx, { executionId: id, key: TURN });
    expect(here.evaluations()).toBe(3);
  });

  it('takes one turn at a time in a process, and looks again when asked meanwhile', async () => {
    let asked: Promise<void> | undefined;
    await using here = openProcess(cast, {
      async meanwhile() {
        asked ??= performStep(here.ctx, { executionId: id, key: TURN });
        await asked;
      },
    });
    const id = await request(cast.ada, { workflow: 'endless' });
    await performStep(here.ctx, { executionId: id, key: TURN });
    // The turn in which the other one was requested, and the one that follows.
    expect([here.evaluations(), await versionOf(id)]).toEqual([2, 2]);
  });

  it('is left to the process that holds it', async () => {
    await using other = openProcess(cast, { isWanted: () => false });
    await using here = openProcess(cast, {
      isWanted: () => false,
      async meanwhile(nth) {
        if (nth > 1) await performStep(other.ctx, { executionId: id, key: TURN });
      },
    });
    const id = await request(cast.ada, { workflow: 'loop' });
    await performStep(here.ctx, { executionId: id, key: TURN });
    expect([await statusOf(cast.ada, id), here.evaluations(), other.evaluations()]).toEqual(['completed', laps, 0]);
  });

  it('is not repeated by a process whose turn was written too late', async () => {
    await using other = openProcess(cast, {});
    await using late = openProcess(cast, {
      meanwhile: () => performStep(other.ctx, { executionId: id, key: TURN }),
    });
    const id = await request(cast.ada, { workflow: 'endless' });
    await performStep(late.ctx, { executionId: id, key: TURN });
    expect([late.evaluations(), other.evaluations(), await versionOf(id)]).toEqual([1, 1, 1]);
    expect(other.jobs).toHaveLength(1);
  });

  it('is taken over when the process that holds it is gone', async () => {
    const { house, ada } = cast;
    const gone = new Error('killed');
    await using killed = openProcess(cast, {
      isWanted: () => false,
      meanwhile: (nth) => (nth > 3 ? Promise.reject(gone) : Promise.resolve()),
    });
    // The process does nothing more, not even put back what it holds.
    const down = {
      ...killed.ctx,
      host: { ...killed.ctx.host, isOutage: () => true },
      delay: () => new Promise<void>(() => {}),
    };
    const id = await request(ada, { workflow: 'loop' });
    await expect(performStep(down, { executionId: id, key: TURN })).rejects.toBe(gone);
    await using next = openProcess(cast, { isWanted: () => false });
    await performStep(next.ctx, { executionId: id, key: TURN });
    expect(next.evaluations()).toBe(0);
    await house.database.advance(house.ctx.timing.turnLease);
    const [due] = await findDueSteps(next.ctx, 1);
    if (due) await performStep(next.ctx, due);
    expect([await statusOf(ada, id), next.evaluations()]).toEqual(['completed', laps - 3]);
  });

  it('leaves nothing that becomes ready during its last turn to the sweep', async () => {
    const { ada } = cast;
    await using other = openProcess(cast, { isWanted: () => false });
    await using here = openProcess(cast, {
      isWanted: () => false,
      async meanwhile() {
        await resumeExecution(ada, { state: await createTaskToken(ada, { executionId: id, type: 'ready' }) });
        await performStep(other.ctx, { executionId: id, key: TURN });
      },
    });
    const id = await request(ada, { workflow: 'beside' });
    await performStep(here.ctx, { executionId: id, key: TURN });
    expect([await statusOf(ada, id), here.evaluations(), other.evaluations()]).toEqual(['completed', 1, 0]);
  });

  it('costs no statement for a task that calls nothing', async () => {
    await using here = openProcess(cast, {});
    const ctx = { ...here.ctx, timing: { ...here.ctx.timing, turn: 60_000 } };
    const counts: number[] = [];
    // The first one uses new connections, which are examined with a statement of their own.
    for (const workflow of ['one', 'one', 'many']) {
      const id = await request(cast.ada, { workflow });
      here.heard.length = 0;
      await performStep(ctx, { executionId: id, key: TURN });
      expect(await statusOf(cast.ada, id)).toBe('completed');
      counts.push(here.heard.length);
    }
    expect(counts[2]).toBe(counts[1]);
  });
});
