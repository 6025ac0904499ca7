import { setTimeout as wait } from 'node:timers/promises';
import { findDueSteps, performStep, sweep } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TURN } from '../src/executions/runtime/turn-row.js';
import { ask, type Cast, catalogWith, openCast, request, statusOf } from './support/stories.js';

const isLong = process.env.BELAY_TEST_LONG !== undefined;
const count = isLong ? 1_000 : 12;

/** Measures, until it is stopped, how long this process's event loop was held and how old transactions became. */
function observe(cast: Cast): { stop(): Promise<{ held: number; oldest: number }> } {
  let held = 0;
  let oldest = 0;
  let last = { at: performance.now(), used: process.cpuUsage() };
  const timer = setInterval(() => {
    const at = performance.now();
    const { user, system } = process.cpuUsage(last.used);
    // A neighbour on the processor is not the loop's doing: what was held was also used.
    held = Math.max(held, Math.min(at - last.at, (user + system) / 1_000));
    last = { at, used: process.cpuUsage() };
  }, 5);
  let stopped = false;
  const looking = (async () => {
    while (!stopped) {
      const [row] = await cast.house.database.sql`
        select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 as age
        from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
      oldest = Math.max(oldest, row?.age ?? 0);
      await wait(5);
    }
  })();
  return {
    async stop() {
      clearInterval(timer);
      stopped = true;
      await looking;
      return { held, oldest };
    },
  };
}

describe('an execution with much to compute', () => {
  let cast: Cast;
  const slow = '${ [range(90000)] | map(. * 2) | add }';
  beforeEach(async () => {
    const loop = (times: number, task: object) => [
      { items: { set: `\${ [range(${times})] }` } },
      { every: { for: { in: '.' }, do: [task] } },
    ];
    cast = await openCast({
      time: null,
      catalog: catalogWith({
        long: loop(10_000, { one: { set: { a: '${ $item }' } } }),
        expressions: loop(count, { one: { set: slow } }),
        endless: [{ one: { set: '${ .a }', then: 'one' } }],
        short: [{ one: { set: slow } }],
      }),
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const untilDone = async (id: string) => {
    for (;;) {
      await sweep(cast.house.ctx);
      const [row] = await cast.house.database.sql`select ended_at from executions where id = ${id}`;
      if (row?.ended_at) return;
    }
  };

  it.each(['long', 'expressions'])(
    'ends, and holds neither a transaction nor the event loop (%s)',
    { timeout: 600_000 },
    async (workflow) => {
      const { house, ada } = cast;
      // What is loaded once is not what is measured.
      await ask(house, ada, { workflow: 'short' });
      const id = await request(ada, { workflow });
      const observing = observe(cast);
      await untilDone(id);
      const { held, oldest } = await observing.stop();
      expect(await statusOf(ada, id)).toBe('completed');
      expect({ held: held < 100, oldest: oldest < 1 }, JSON.stringify({ held, oldest })).toEqual({
        held: true,
        oldest: true,
      });
    },
  );

  it('without an end takes one turn at a time, and others have theirs in between', { timeout: 60_000 }, async () => {
    const { house, ada } = cast;
    const endless = await request(ada, { workflow: 'endless' });
    const short = await request(ada, { workflow: 'short' });
    await performStep(house.ctx, { executionId: endless, key: TURN });
    const [first] = await house.database.sql`select version, status from executions where id = ${endless}`;
    expect(first).toEqual({ version: 1, status: 'waiting' });
    // A worker that starts anew meets both; neither keeps the other from its turn.
    await sweep(house.ctx);
    expect(await statusOf(ada, short)).toBe('completed');
    const [second] = await house.database.sql`select version from executions where id = ${endless}`;
    expect(second?.version).toBe(2);
  });

  it('which fails does not keep what is due after it from being found', async () => {
    const { house, ada } = cast;
    const broken = await request(ada, { workflow: 'short' });
    await house.database.sql`update executions set status = 'running', state = '{"open": 7}' where id = ${broken}`;
    const whole = await request(ada, { workflow: 'short' });
    const first = async () => (await findDueSteps(house.ctx, 1))[0]?.executionId;
    expect(await first()).toBe(broken);
    await expect(performStep(house.ctx, { executionId: broken, key: TURN })).rejects.toThrow();
    expect(await first()).toBe(whole);
    // And it is tried again.
    await expect.poll(first, { timeout: 10_000 }).toBe(broken);
  });
});
