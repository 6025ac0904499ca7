import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '@belay/core';
import { takeTurn } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { findTestPort } from '@belay/testkit/ports';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startDemoControl } from '../src/control.js';
import { startSwitchableWorker } from '../src/switchable-worker.js';

const log: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const delay = (milliseconds: number, signal?: AbortSignal) => wait(milliseconds, undefined, { signal });
const secret = 'the secret of this test';
let database: TestDatabase;
let databaseUrl = '';
let port = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  databaseUrl = database.url;
  port = await findTestPort();
});
afterAll(() => database[Symbol.asyncDispose]());

/** A worker that takes a moment to stop, like one with a call in progress. */
async function worker() {
  const state = { running: 0, started: 0 };
  const switchable = await startSwitchableWorker({
    databaseUrl,
    log,
    delay,
    start: async () => {
      state.running++;
      state.started++;
      return { stop: () => wait(100).then(() => state.running--) };
    },
  });
  return { state, stop: switchable.stop };
}

async function setWorkers(running: unknown, bearer = secret): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/workers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ running }),
  });
  return answer.status;
}

describe('the control of the demo', () => {
  it('stops every worker, answers when none runs, holds new ones back, and lets all of them go on', async () => {
    const control = await startDemoControl({ port, secret, databaseUrl, log, delay });
    const workers = await Promise.all([worker(), worker()]);
    expect(workers.map(({ state }) => state.running)).toEqual([1, 1]);
    expect(await setWorkers(false)).toBe(200);
    expect(workers.map(({ state }) => state.running)).toEqual([0, 0]);
    workers.push(await worker());
    expect(workers.map(({ state }) => state.running)).toEqual([0, 0, 0]);
    expect(await setWorkers(false)).toBe(200);
    expect(await setWorkers(true)).toBe(200);
    await vi.waitFor(() => expect(workers.map(({ state }) => state.running)).toEqual([1, 1, 1]), { timeout: 30_000 });
    await Promise.all(workers.map(({ stop }) => stop()));
    expect(workers.map(({ state }) => state.running)).toEqual([0, 0, 0]);
    await control.close();
  });

  it('lets the workers continue when it dies', async () => {
    const control = await startDemoControl({ port, secret, databaseUrl, log, delay });
    const { state, stop } = await worker();
    expect(await setWorkers(false)).toBe(200);
    expect(state.running).toBe(0);
    // Ends the connection of the control, as killing its process would.
    await database.sql`
      select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.locktype = 'relation' and l.mode = 'ExclusiveLock' and l.granted and l.pid <> pg_backend_pid()`;
    await vi.waitFor(() => expect(state).toEqual({ running: 1, started: 2 }), { timeout: 30_000 });
    await stop();
    await control.close();
  });

  it('can be stopped while the workers are held back', async () => {
    const control = await startDemoControl({ port, secret, databaseUrl, log, delay });
    expect(await setWorkers(false)).toBe(200);
    const { state, stop } = await worker();
    await stop();
    expect(state.started).toBe(0);
    await control.close();
  });

  it('does not start a worker again after its first start has failed', async () => {
    let started = 0;
    let retry: AbortSignal | undefined;
    const failing = startSwitchableWorker({
      databaseUrl,
      log,
      // The pause before the next start ends only when it is aborted; the one without a signal limits the wait of this start.
      delay: (_milliseconds, signal) =>
        new Promise((resolve) => {
          retry ??= signal;
          signal?.addEventListener('abort', () => resolve());
        }),
      start: async () => {
        started++;
        throw new Error('no connection');
      },
    });
    await expect(failing).rejects.toThrow('no connection');
    expect([started, retry?.aborted]).toEqual([1, true]);
    // Nothing holds the turn any more.
    const turn = await takeTurn(databaseUrl, 'demo_workers', { signal: AbortSignal.timeout(20_000) });
    await turn.release();
  });

  it('accepts only the right secret and the right request', async () => {
    const control = await startDemoControl({ port, secret, databaseUrl, log, delay });
    expect(await setWorkers(false, 'another secret of the same')).toBe(401);
    expect(await setWorkers('no')).toBe(400);
    expect((await fetch(`http://127.0.0.1:${port}/workers`)).status).toBe(401);
    await control.close();
  });
});
