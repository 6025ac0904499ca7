import { type Context, cancelExecution, createTaskToken, getExecution, resumeExecution } from '@belay/core';
import { prepareTurn, takeTurn, writeAlone } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { describe, expect, it } from 'vitest';
import { access, catalogWith, openCast, type Person, request, statusOf } from './support/stories.js';

const endless = { again: { set: '${ .a }', then: 'again' } };
const turn = { turn: 20 };

/** Returns a caller whose execution moves each time before they write. */
function outrun(person: Person, moves: () => Promise<unknown>): Person {
  const transaction: Context['db']['transaction'] = async (...given) => {
    await moves();
    return person.db.transaction(...given);
  };
  const db = new Proxy(person.db, {
    get: (target, property) => (property === 'transaction' ? transaction : Reflect.get(target, property)),
  });
  return { ...person, db };
}

describe('an execution that never rests', () => {
  it('is cancelled: its access ends at once, and its next turn applies it', async () => {
    const catalog = catalogWith({ endless: [{ grant: { call: 'access.grant' } }, endless] });
    await using cast = await openCast({ catalog, timing: turn });
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'endless' });
    await expect
      .poll(async () => (await sweep(house.ctx)) && house.provider.holds('ada@example.com', access))
      .toBe(true);
    await expect.poll(async () => (await sweep(house.ctx)) && (await getExecution(ada, { id })).state).toBe('active');
    const late = await prepareTurn(house.ctx, id);
    await cancelExecution(
      outrun(ada, () => takeTurn(house.ctx, id)),
      { id },
    );
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'ending', grants: [{ ended_reason: 'cancelled' }] });
    // A turn that was decided earlier is not written.
    expect(late && (await writeAlone(house.ctx, late))).toBe(false);
    await takeTurn(house.ctx, id);
    expect(await statusOf(ada, id)).toBe('cancelled');
    await house.work();
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
  });

  it('gives what cleans up after it no access', async () => {
    const cleaning = {
      guarded: {
        try: [endless],
        catch: {
          errors: { with: { type: 'https://belay.dev/errors/cancelled' } },
          do: [{ pause: { wait: { minutes: 1 } } }, { grant: { call: 'access.grant' } }],
        },
      },
    };
    await using cast = await openCast({ catalog: catalogWith({ cleaning: [cleaning] }), timing: turn });
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'cleaning' });
    await takeTurn(house.ctx, id);
    await cancelExecution(
      outrun(ada, () => takeTurn(house.ctx, id)),
      { id },
    );
    await house.work();
    expect(await statusOf(ada, id)).toBe('waiting');
    await house.pass(60_000);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'cancelled', grants: [] });
  });

  it('takes an event that a task of it waits for', async () => {
    const hear = { listen: { to: { one: { with: { type: 'ready' } } } }, metadata: { from: { requester: true } } };
    const spin = { do: [{ nap: { wait: { milliseconds: 1 } } }, { again: { set: '${ .a }', then: 'nap' } }] };
    const both = { both: { fork: { branches: [{ hear }, { spin }] } } };
    await using cast = await openCast({ catalog: catalogWith({ beside: [both] }) });
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'beside' });
    await takeTurn(house.ctx, id);
    const moving = outrun(ada, async () => {
      await house.database.advance(2);
      await takeTurn(house.ctx, id);
    });
    const resume = async (type: string) =>
      resumeExecution(moving, { state: await createTaskToken(ada, { executionId: id, type }) });
    await expect(resume('other')).rejects.toMatchObject({ code: 'conflict' });
    await resume('ready');
    await takeTurn(house.ctx, id);
    const left = await house.database.sql`select from signals where execution_id = ${id} and consumed_at is null`;
    expect(left).toHaveLength(0);
  });

  it('takes an event beside a task that computes without end', async () => {
    const hear = { listen: { to: { one: { with: { type: 'ready' } } } }, metadata: { from: { requester: true } } };
    const catalog = catalogWith({
      beside: [{ both: { fork: { branches: [{ hear }, { spin: { do: [endless] } }] } } }],
    });
    await using cast = await openCast({ time: null, catalog, timing: turn });
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'beside' });
    await takeTurn(house.ctx, id);
    await resumeExecution(ada, { state: await createTaskToken(ada, { executionId: id, type: 'ready' }) });
    for (let turns = 0; turns < 3; turns += 1) await takeTurn(house.ctx, id);
    const left = await house.database.sql`select from signals where execution_id = ${id} and consumed_at is null`;
    expect(left).toHaveLength(0);
  });

  it('is cancelled by each of several calls, while workers take its turns', async () => {
    await using cast = await openCast({ time: null, catalog: catalogWith({ endless: [endless] }), timing: turn });
    const { house, ada } = cast;
    const ids = await Promise.all(Array.from({ length: 20 }, () => request(ada, { workflow: 'endless' })));
    let stopped = false;
    const workers = Array.from({ length: 2 }, async () => {
      while (!stopped) await sweep(house.ctx);
    });
    try {
      const moved = async () => {
        const [row] = await house.database.sql`select min(version) as version from executions`;
        return Number(row?.version);
      };
      await expect.poll(moved, { timeout: 60_000 }).toBeGreaterThan(1);
      const answers = await Promise.all(ids.map((id) => cancelExecution(ada, { id })));
      expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 'ok'));
      const statuses = async () => [...new Set(await Promise.all(ids.map((id) => statusOf(ada, id))))];
      await expect.poll(statuses, { timeout: 60_000 }).toEqual(['cancelled']);
    } finally {
      stopped = true;
      await Promise.all(workers);
    }
  });
});
