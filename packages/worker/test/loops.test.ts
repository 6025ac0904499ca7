import { setTimeout as wait } from 'node:timers/promises';
import { type Context, requestElevation } from '@belay/core';
import { openDatabase } from '@belay/db';
import { approvalCatalog, createHouse, type House, workflowOf } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultPlaces, type Places } from '../src/bulkheads.js';
import { startWorker } from '../src/start.js';
import { createWaker } from '../src/waker.js';
import { recordLog } from './support/context.js';
import { type Transport, transports } from './support/transports.js';

const laps = 300;
const workflows = {
  /** One expression per lap needs jq. */
  loop: [
    { start: { set: { n: 0 } } },
    { count: { set: { n: '${ .n + 1 }' } } },
    { more: { switch: [{ over: { when: `.n == ${laps}`, then: 'end' } }, { again: { then: 'count' } }] } },
  ],
  endless: [{ count: { set: { n: '${ (.n // 0) + 1 }' }, then: 'count' } }],
  short: [{ once: { set: { n: '${ 1 + 1 }' } } }],
};

describe('a loop of an execution, with workers and PostgreSQL as the queue', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  let house: House;
  let transport: Transport;
  beforeEach(async () => {
    const catalog = approvalCatalog({ role: { workflows: Object.keys(workflows) } });
    const named = Object.entries(workflows).map(([name, tasks]) => [
      name,
      { description: name, workflow: workflowOf(name, tasks) },
    ]);
    house = await createHouse({
      time: null,
      timing: { turn: 20 },
      catalog: { ...catalog, workflows: Object.fromEntries(named) },
    });
    const [postgres] = transports;
    if (!postgres) throw new Error('no queue to test with');
    transport = await postgres.start();
    cleanups.push(
      () => transport.stop(),
      async () => house[Symbol.asyncDispose](),
    );
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  /** Starts a worker as in a process of its own, which counts its evaluations. */
  async function start(options: { places?: Places; sweepMilliseconds?: number } = {}) {
    const log = recordLog();
    const client = openDatabase(house.database.url, { max: 10 });
    const backend = await transport.open(log);
    await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), { timeout: 60_000 });
    const waker = createWaker(backend, log, { now: Date.now });
    let jobs = 0;
    let evaluations = 0;
    let running = 0;
    let together = 0;
    const wake: typeof waker.wake = (sent) => {
      jobs += sent.length;
      waker.wake(sent);
    };
    const evaluate: Context['evaluate'] = async (...given) => {
      evaluations += 1;
      running += 1;
      together = Math.max(together, running);
      try {
        return await house.ctx.evaluate(...given);
      } finally {
        running -= 1;
      }
    };
    const context: Context = { ...house.ctx, db: client.db, waker: { ...waker, wake }, evaluate, log };
    const worker = await startWorker({ context, backend, ...options });
    cleanups.push(async () => {
      await worker.stop({ graceMilliseconds: 5_000 });
      await waker.close();
      await backend.close();
      await client.close();
    });
    return { context, counts: () => ({ jobs, evaluations, together }) };
  }

  async function request({ context }: { context: Context }, name: string, workflow: string): Promise<string> {
    const person = await house.person(name, ['engineers']);
    const asked = { role: 'reader', reason: 'a ticket', duration: 'PT30M', workflow };
    return (await requestElevation({ ...person, ...context, actor: person.actor }, asked)).output.execution_id;
  }

  async function untilCompleted(id: string): Promise<void> {
    for (;;) {
      const [row] = await house.database.sql`select status, ended_at from executions where id = ${id}`;
      if (row?.ended_at) return expect(row.status).toBe('completed');
      await wait(20);
    }
  }

  it('evaluates each expression of a lap once, and sends no job', { timeout: 500_000 }, async () => {
    const worker = await start({ sweepMilliseconds: 100 });
    await untilCompleted(await request(worker, 'ada', 'loop'));
    expect(worker.counts()).toEqual({ jobs: 0, evaluations: laps, together: 1 });
  });

  it('evaluates each expression of a lap once in two processes', { timeout: 500_000 }, async () => {
    const [one, other] = [await start({ sweepMilliseconds: 100 }), await start({ sweepMilliseconds: 100 })];
    await untilCompleted(await request(one, 'ada', 'loop'));
    expect([one.counts().evaluations, other.counts().evaluations]).toEqual([laps, 0]);
  });

  it('pauses while another execution waits for its place, and goes on afterwards', { timeout: 500_000 }, async () => {
    const worker = await start({ places: { ...defaultPlaces, executions: 1 } });
    const endless = await request(worker, 'ada', 'endless');
    const versionOf = async () => {
      const [row] = await house.database.sql`select version from executions where id = ${endless}`;
      return Number(row?.version);
    };
    await expect.poll(versionOf, { timeout: 120_000 }).toBeGreaterThan(1);
    for (const name of ['grace', 'alan']) await untilCompleted(await request(worker, name, 'short'));
    const before = await versionOf();
    await expect.poll(versionOf, { timeout: 120_000 }).toBeGreaterThan(before + 2);
  });
});
