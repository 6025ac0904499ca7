import type { WaitTarget } from '@belay/contract/executions';
import { isOutage } from '@belay/contract/outage';
import {
  addComment,
  cancelExecution,
  openChanges,
  returnAccess,
  terminateExecution,
  waitForExecution,
  watchExecution,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { sql } from 'drizzle-orm';
import { describe, expect, it, vi } from 'vitest';
import { startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { collectMemory } from '../../../test/support/collect-memory.js';
import { goingAway } from './support/losing.js';
import { approve, ask, type Cast, catalogWith, deny, minute, openCast, request } from './support/stories.js';

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

it('a wait looks every 2.5 s at least, also while another caller follows the events', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  const stop = new AbortController();
  /** Notes its pauses; a pause of more than `most` ends only by the signal, and a shorter one immediately. */
  const noting = (pauses: number[], most: number) => ({
    ...cast.ada,
    changes: undefined,
    async delay(milliseconds: number, signal?: AbortSignal) {
      pauses.push(milliseconds);
      await cast.ada.delay(milliseconds > most ? 60_000 : 1, signal);
    },
  });
  const [ofEvents, ofWait]: number[][] = [[], []];
  const following = (async () => {
    const ada = noting(ofEvents ?? [], 3_000);
    for await (const _event of watchExecution(ada, { id, signal: stop.signal })) if (stop.signal.aborted) return;
  })();
  await vi.waitFor(() => expect(Math.max(...(ofEvents ?? []))).toBeGreaterThan(3_000), { timeout: 30_000 });
  const ada = noting(ofWait ?? [], Number.POSITIVE_INFINITY);
  const waiting = waitForExecution(ada, { id, until: 'ended', wait: 'PT30S', signal: stop.signal });
  await vi.waitFor(() => expect(ofWait?.length).toBeGreaterThan(20), { timeout: 30_000 });
  expect(Math.max(...(ofWait ?? []).slice(0, 20))).toBeLessThanOrEqual(2_500);
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

describe('a wait that hears of every change', () => {
  /** A pause that ends only by the signal: a wait with it never polls. */
  const never: Cast['ada']['delay'] = (_milliseconds, signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('ended')), { once: true }),
    );

  /** Opens a second process, whose statements are counted, and which learns of changes only by notifications. */
  function openReader({ house }: Cast) {
    const texts: string[] = [];
    const client = openDatabase(house.database.url, { max: 4, onStatement: (_, text) => void texts.push(text) });
    const changes = openChanges({ databaseUrl: house.database.url, log: house.ctx.log, delay: house.ctx.delay });
    const count = (pattern: RegExp) => texts.filter((text) => pattern.test(text)).length;
    return {
      as: (person: Cast['ada']) => ({ ...person, db: client.db, changes, delay: never }),
      /** How often the whole execution was read, how often only its state, and how often it was marked as watched. */
      counts: () => ({
        whole: count(/as happened/),
        state: count(/^select e\.id,\s+e\.status/),
        marks: count(/marked as/),
      }),
      async [Symbol.asyncDispose]() {
        await changes.close();
        await client.close();
      },
    };
  }

  const chatty = [{ tick: { wait: 'PT1S' } }, { tock: { set: { n: 1 }, then: 'tick' } }];

  it('reads the whole execution once before it ends, however much happens that decides nothing', async () => {
    await using cast = await openCast({ catalog: catalogWith({ chatty }) });
    await using reader = openReader(cast);
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'chatty' });
    const { signal } = new AbortController();
    const waiting = waitForExecution(reader.as(ada), { id, until: 'completed', wait: 'PT30S', signal });
    await vi.waitFor(() => expect(reader.counts()).toEqual({ whole: 1, state: 1, marks: 1 }), { timeout: 30_000 });
    const events = 18;
    for (let nth = 0; nth < events; nth += 1) {
      if (nth % 2 === 0) await addComment(ada, { id, text: 'still waiting' });
      else await house.pass(1_000);
    }
    await vi.waitFor(() => expect(reader.counts().state).toBeGreaterThan(5), { timeout: 30_000 });
    expect(reader.counts()).toMatchObject({ whole: 1, marks: 1 });
    await terminateExecution(ada, { id });
    expect(await waiting).toMatchObject({ status: 'terminated', state: 'terminated' });
    const { whole, state } = reader.counts();
    expect(whole).toBe(2);
    // A move can have two commits.
    expect(state).toBeLessThanOrEqual(2 + 2 * events);
  });

  it('reads no execution but the one that changed, among 101 that are waited for', async () => {
    await using cast = await openCast();
    await using reader = openReader(cast);
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    await house.database.sql`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state)
      select gen_random_uuid(), workflow, definition_digest, catalog_version, owner_id, input, 'waiting', '{}'
      from executions, generate_series(1, 100) where id = ${id}`;
    const rows = await house.database.sql<{ id: string }[]>`select id from executions`;
    const { signal } = new AbortController();
    const stop = new AbortController();
    const person = reader.as(ada);
    const waits = rows.map((row) =>
      waitForExecution(person, {
        id: row.id,
        until: row.id === id ? 'active' : 'ended',
        signal: row.id === id ? signal : stop.signal,
      }),
    );
    await vi.waitFor(() => expect(reader.counts().whole).toBe(101), { timeout: 30_000 });
    await vi.waitFor(async () => expect(await house.database.sql`select from watches`).toHaveLength(101), {
      timeout: 30_000,
    });
    await approve(grace, id);
    await house.work();
    expect((await waits[rows.findIndex((row) => row.id === id)])?.state).toBe('active');
    expect(reader.counts().whole).toBe(102);
    stop.abort();
    await Promise.all(waits);
  });

  it('marks the execution once for all waits of an elevation', async () => {
    await using cast = await openCast();
    await using reader = openReader(cast);
    const { house, ada, grace } = cast;
    const person = reader.as(ada);
    const { signal } = new AbortController();
    const wait = (id: string, until: WaitTarget) => waitForExecution(person, { id, until, signal });
    const id = await ask(house, ada);
    const active = wait(id, 'active');
    await vi.waitFor(() => expect(reader.counts().state).toBe(1), { timeout: 30_000 });
    await approve(grace, id);
    await house.work();
    expect((await active).state).toBe('active');
    const before = reader.counts();
    const ended = wait(id, 'ended');
    await vi.waitFor(() => expect(reader.counts().whole).toBe(before.whole + 1), { timeout: 30_000 });
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect((await ended).state).toBe('ended');
    expect(reader.counts().marks).toBe(1);
  });
});

describe('a wait for `completed`', () => {
  const error = { type: 'https://x.example/e', status: 500, title: 'No' };
  const workflows = {
    fleeting: [{ pause: { wait: 'PT1M' } }, { grant: { call: 'access.grant' } }],
    faulty: [{ pause: { wait: 'PT1M' } }, { fail: { raise: { error } } }],
  };

  it.each<[string, string, (cast: Cast, id: string) => Promise<unknown>, object]>([
    [
      'completes before its grant ends',
      'fleeting',
      ({ house }) => house.pass(minute),
      { status: 'completed', state: 'active' },
    ],
    ['faults', 'faulty', ({ house }) => house.pass(minute), { status: 'faulted', state: 'failed' }],
    [
      'is cancelled',
      'fleeting',
      ({ ada }, id) => cancelExecution(ada, { id }),
      { status: 'cancelled', state: 'cancelled' },
    ],
    ['is terminated', 'fleeting', ({ ada }, id) => terminateExecution(ada, { id }), { status: 'terminated' }],
  ])('ends when the workflow %s, and not before', async (_how, workflow, happen, expected) => {
    await using cast = await openCast({ catalog: catalogWith(workflows) });
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow });
    const { signal } = new AbortController();
    const wait = (time: string) => waitForExecution(ada, { id, until: 'completed', wait: time, signal });
    expect((await wait('PT0.2S')).status).toBe('waiting');
    const waiting = wait('PT30S');
    await happen(cast, id);
    await house.work();
    expect(await waiting).toMatchObject(expected);
    // A workflow that is over is returned immediately.
    expect(await wait('PT30S')).toMatchObject(expected);
  });

  it('does not end while the workflow holds access that has ended', async () => {
    await using cast = await openCast();
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    const { signal } = new AbortController();
    const wait = (time: string) => waitForExecution(ada, { id, until: 'completed', wait: time, signal });
    expect(await wait('PT0.2S')).toMatchObject({ status: 'waiting', state: 'active' });
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(await wait('PT30S')).toMatchObject({ status: 'completed', state: 'ended' });
  });
});
