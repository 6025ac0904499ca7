import { setTimeout as wait } from 'node:timers/promises';
import { readHealth, readMetrics } from '@belay/core';
import { findDueSteps, performStep, TURN } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, beginOnly, type Cast, catalogWith, openCast, request, statusOf } from './support/stories.js';

const isLong = process.env.BELAY_TEST_LONG !== undefined;
const count = isLong ? 1_000 : 12;
/** Enough items to take several turns. */
const items = process.env.CI ? 10_000 : 3_000;

/**
 * Measures, until `stop`, how long the event loop of this process was blocked (`held`, in milliseconds) and how long transactions were
 * open (`oldest`, in seconds). Counts only time in which this process computed, so that other processes do not change the result.
 */
function observe(cast: Cast): { stop(): Promise<{ held: number; oldest: number }> } {
  let held = 0;
  let oldest = 0;
  let last = { at: performance.now(), used: process.cpuUsage() };
  const timer = setInterval(() => {
    const at = performance.now();
    const { user, system } = process.cpuUsage(last.used);
    held = Math.max(held, Math.min(at - last.at, (user + system) / 1_000));
    last = { at, used: process.cpuUsage() };
  }, 5);
  let stopped = false;
  const looking = (async () => {
    let open = new Map<string, NodeJS.CpuUsage>();
    while (!stopped) {
      const now = process.cpuUsage();
      const rows = await cast.house.database.sql<{ transaction: string; age: number }[]>`
        select pid || ' ' || xact_start as transaction, extract(epoch from clock_timestamp() - xact_start)::float8 as age
        from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
          and pid <> pg_backend_pid() and xact_start is not null`;
      open = new Map(rows.map(({ transaction }) => [transaction, open.get(transaction) ?? now]));
      for (const { transaction, age } of rows) {
        const { user, system } = process.cpuUsage(open.get(transaction));
        oldest = Math.max(oldest, Math.min(age, (user + system) / 1_000_000));
      }
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
        long: loop(items, { one: { set: { a: '${ $item }' } } }),
        expressions: loop(count, { one: { set: slow } }),
        endless: [{ one: { set: '${ .a }', then: 'one' } }],
        short: [{ one: { set: slow } }],
        telling: [{ tell: { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } } }],
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
      // Loads what is loaded only once, which is not measured.
      await ask(house, ada, { workflow: 'short' });
      const id = await request(ada, { workflow });
      const observing = observe(cast);
      await untilDone(id);
      const { held, oldest } = await observing.stop();
      expect(await statusOf(ada, id)).toBe('completed');
      expect({ held: held < 100, oldest: oldest < 0.25 }, JSON.stringify({ held, oldest })).toEqual({
        held: true,
        oldest: true,
      });
    },
  );

  it('leaves what takes longer than its share of processor time to its next turn', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'expressions' });
    await performStep(house.ctx, { executionId: id, key: TURN });
    const [row] = await house.database.sql`select status, ended_at from executions where id = ${id}`;
    expect([house.ctx.timing.turn, row]).toEqual([250, { status: 'waiting', ended_at: null }]);
  });

  it('without an end takes one turn at a time, and others have theirs in between', async () => {
    const { house, ada } = cast;
    const endless = await request(ada, { workflow: 'endless' });
    const short = await request(ada, { workflow: 'short' });
    await performStep(house.ctx, { executionId: endless, key: TURN });
    const [first] = await house.database.sql`select version, status from executions where id = ${endless}`;
    expect(first).toEqual({ version: 1, status: 'waiting' });
    // A new worker finds both; neither prevents the turn of the other.
    await sweep(house.ctx);
    expect(await statusOf(ada, short)).toBe('completed');
    const [second] = await house.database.sql`select version from executions where id = ${endless}`;
    expect(second?.version).toBe(2);
  });

  describe('which fails by an error of the service', () => {
    const breakIt = async () => {
      const { house, ada } = cast;
      const id = await request(ada, { workflow: 'short' });
      await house.database.sql`update executions set status = 'running', state = '{"open": 7}' where id = ${id}`;
      return id;
    };
    const first = async () => (await findDueSteps(cast.house.ctx, 1))[0]?.executionId;

    it('does not keep what is due after it from being found, and is tried again', async () => {
      const { house, ada } = cast;
      const broken = await breakIt();
      const whole = await request(ada, { workflow: 'short' });
      expect(await first()).toBe(broken);
      // The column has milliseconds: the current time may be rounded to a time in the future.
      const isDueAgain = () =>
        house.database
          .sql`update steps set lease_until = app_now() - interval '1 second' where execution_id = ${broken}`;
      // The first pauses last seconds, which a busy machine may take between two statements; the seventh lasts a minute.
      for (let failure = 1; failure <= 7; failure += 1) {
        if (failure > 1) await isDueAgain();
        await performStep(house.ctx, { executionId: broken, key: TURN });
      }
      expect(await first()).toBe(whole);
      await isDueAgain();
      expect(await first()).toBe(broken);
    });

    it('is tried later each time, with a line of the log when that begins and a number to watch', async () => {
      const { house } = cast;
      const id = await breakIt();
      const lines: [level: string, failures: unknown][] = [];
      const hear = (level: string) => (detail: object) =>
        void lines.push([level, (detail as { failures?: unknown }).failures]);
      const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') };
      const ctx = { ...house.ctx, log, randomBytes: () => new Uint8Array([0]) };
      const pauses: number[] = [];
      for (let failure = 1; failure <= 12; failure += 1) {
        await performStep(ctx, { executionId: id, key: TURN });
        const [row] = await house.database.sql`
          select extract(epoch from lease_until - app_now())::float8 as pause from steps where execution_id = ${id}`;
        pauses.push(Math.round(row?.pause as number));
        await house.database
          .sql`update steps set lease_until = app_now() - interval '1 second' where execution_id = ${id}`;
      }
      expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
      expect(lines.filter(([level]) => level !== 'debug')).toEqual([['error', 1]]);
      const readings = async () => [
        (await readMetrics(house.ctx, { uptimeMilliseconds: 1, requests: 1 })).failing_executions,
        (await readHealth(house.ctx, { path: '/health', scheduler: async () => 'healthy' })).services.workflow_engine,
      ];
      expect(await readings()).toEqual([1, 'degraded: 1 executions fail with an internal error; see the log']);
      await house.database.sql`update executions set status = 'pending', state = '{}' where id = ${id}`;
      await performStep(ctx, { executionId: id, key: TURN });
      expect(await statusOf(cast.ada, id)).toBe('completed');
      expect(await readings()).toEqual([0, 'healthy']);
    });

    it('keeps the outcome of the call that it applies: the call is not made again', async () => {
      const { house, ada } = cast;
      const id = await request(ada, { workflow: 'telling' });
      await beginOnly(house, id);
      const [step] = await house.database.sql`select key from steps where execution_id = ${id} and kind = 'call'`;
      const call = { executionId: id, key: String(step?.key) };
      const [sound] = await house.database.sql`select state from executions where id = ${id}`;
      await house.database.sql`update executions set state = '{"open": 7}' where id = ${id}`;
      for (let time = 0; time < 2; time += 1) await performStep(house.ctx, call).catch(() => {});
      expect(house.provider.count('deliver')).toBe(1);
      await house.database.sql`
        update executions set state = ${JSON.stringify(sound?.state)}::text::jsonb where id = ${id}`;
      await house.database.sql`update steps set lease_until = null where execution_id = ${id}`;
      await house.work();
      expect([await statusOf(ada, id), house.provider.count('deliver')]).toEqual(['completed', 1]);
    });
  });
});
