import type { WaitTarget } from '@belay/contract/executions';
import { isOutage } from '@belay/contract/outage';
import { cancelExecution, waitForExecution, watchExecution } from '@belay/core';
import { openDatabase } from '@belay/db';
import { sql } from 'drizzle-orm';
import { expect, it, vi } from 'vitest';
import { startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { collectMemory } from '../../../test/support/collect-memory.js';
import { goingAway } from './support/losing.js';
import { approve, ask, deny, openCast, request } from './support/stories.js';

it('a wait ends when the request has come so far, at once when it is over, and at the end of its time', async () => {
  await using cast = await openCast();
  const { house, ada, grace, mallory } = cast;
  const { signal } = new AbortController();
  const wait = async (id: string, until: WaitTarget, time = 'PT20S') =>
    (await waitForExecution(ada, { id, until, wait: time, signal })).state;

  const id = await request(ada);
  const opening = wait(id, 'approval');
  await house.work();
  expect(await opening).toBe('waiting_for_approval');
  expect(await wait(id, 'decision', 'PT0.2S')).toBe('waiting_for_approval');
  const activating = wait(id, 'active');
  await approve(grace, id);
  await house.work();
  expect(await activating).toBe('active');
  const ending = wait(id, 'ended');
  await house.pass(60 * 60_000);
  expect(await ending).toBe('ended');

  const denied = await ask(house, ada);
  await deny(grace, denied);
  await house.work();
  expect(await wait(denied, 'active')).toBe('denied');

  await expect(wait(denied, 'active', 'PT31S')).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'wait' }] });
  await expect(waitForExecution(ada, { id, wait: 'PT1S', signal })).rejects.toMatchObject({
    issues: [{ path: 'wait' }],
  });
  await expect(waitForExecution(mallory, { id, until: 'ended', signal })).rejects.toMatchObject({ code: 'not_found' });
});

it('a wait ends at its time although memory is collected meanwhile', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  using _ = collectMemory();
  const { signal } = new AbortController();
  const found = await waitForExecution(cast.ada, { id, until: 'ended', wait: 'PT1S', signal });
  expect(found.state).toBe('waiting_for_approval');
});

it('a wait ends when the database is known to be silent, and not at the end of its time', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  const target = new URL(cast.house.database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  const client = openDatabase(target.href, { max: 3 });
  try {
    const { signal } = new AbortController();
    const ada = { ...cast.ada, db: client.db };
    const waiting = waitForExecution(ada, { id, until: 'ended', wait: 'PT30S', signal }).catch(
      (error: unknown) => error,
    );
    await vi.waitFor(async () => expect(await cast.house.database.sql`select from watches`).toHaveLength(1), {
      timeout: 30_000,
    });
    const from = performance.now();
    proxy.swallow(true);
    expect(isOutage(await waiting)).toBe(true);
    // The next read is up to 2.5 s away, and its silence is noticed 6.5 s later at most; the wait itself lasts 30 s.
    expect(performance.now() - from).toBeLessThan(20_000);
  } finally {
    await client.close();
  }
});

it('a wait whose reads get no response ends 4 s after its time, and 9 s after its start where that is later', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  const target = new URL(cast.house.database.url);
  await using proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  // The limits of the database are so long that only the limit of the wait can end it.
  const client = openDatabase(target.href, { max: 1, statementMilliseconds: 60_000 });
  try {
    await client.db.execute(sql`select 1`);
    proxy.swallow(true);
    const { signal } = new AbortController();
    const ended = ['PT0.2S', 'PT5.5S'].map(async (wait) => {
      const pauses: number[] = [];
      const delay = async (milliseconds: number) => void pauses.push(milliseconds);
      const ada = { ...cast.ada, db: client.db, delay };
      await expect(waitForExecution(ada, { id, until: 'ended', wait, signal })).rejects.toMatchObject({
        code: 'unavailable',
      });
      return pauses;
    });
    expect(await Promise.all(ended)).toEqual([[8_800], [4_000]]);
  } finally {
    await client.close(0);
  }
});

it('a wait looks every 2.5 s at least, also where nothing but events is followed before', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  const pauses: number[] = [];
  const delay = async (milliseconds: number, signal?: AbortSignal) => {
    pauses.push(milliseconds);
    // A long pause ends only by the signal, and a short one immediately.
    await cast.ada.delay(milliseconds > 3_000 ? 60_000 : 1, signal);
  };
  const ada = { ...cast.ada, changes: undefined, delay };
  const stop = new AbortController();
  const following = (async () => {
    for await (const _event of watchExecution(ada, { id, signal: stop.signal })) if (stop.signal.aborted) return;
  })();
  await vi.waitFor(() => expect(Math.max(...pauses)).toBeGreaterThan(3_000), { timeout: 30_000 });
  pauses.length = 0;
  const waiting = waitForExecution(ada, { id, until: 'ended', wait: 'PT30S', signal: stop.signal });
  await vi.waitFor(() => expect(pauses.length).toBeGreaterThan(10), { timeout: 30_000 });
  expect(Math.max(...pauses.slice(0, 10))).toBeLessThanOrEqual(2_500);
  stop.abort();
  await Promise.allSettled([following, waiting]);
});

it('a wait goes on through a short absence of the database', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  let away = false;
  const { signal } = new AbortController();
  const ada = { ...cast.ada, db: goingAway(cast.house.ctx.db, () => away) };
  let failed = 0;
  const log = { ...cast.house.ctx.log, error: () => void (failed += 1) };
  // The reader pauses for the first time after its first read: a request whose first read fails is rejected immediately.
  const resting = vi.fn(ada.delay);
  const waiting = waitForExecution({ ...ada, log, delay: resting }, { id, until: 'ended', wait: 'PT30S', signal });
  await vi.waitFor(() => expect(resting).toHaveBeenCalled(), { timeout: 30_000 });
  away = true;
  await vi.waitFor(() => expect(failed).toBe(1), { timeout: 30_000 });
  away = false;
  await cancelExecution(cast.ada, { id });
  expect((await waiting).state).toBe('cancelled');
});
