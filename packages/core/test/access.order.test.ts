import { claimDue, getExecution, performClaims, reconcileEntitlement, returnAccess } from '@belay/core';
import { openDatabase } from '@belay/db';
import { sweep } from '@belay/testkit/sweep';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { heldBeforeCommit, someoneWaits, stopClockOf } from './support/gate.js';
import { withPlaces } from './support/places.js';
import {
  access,
  approve,
  ask,
  type Cast,
  catalogWith,
  hour,
  openCast,
  request,
  second,
  statusOf,
} from './support/stories.js';
import { openWire, type Wire } from './support/wire.js';

describe('a decision under a lock', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({ fleeting: [{ grant: { call: 'access.grant' } }] }) });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const stateOf = async () =>
    (await cast.house.database.sql`select state, fence, lease_until from entitlements`)[0] ?? {};
  const entitlementId = async () => (await cast.house.database.sql`select id from entitlements`)[0]?.id as string;

  it('sees the end of the second of two grants that are returned at the same time', async () => {
    const { house, ada } = cast;
    const [one, other] = [
      await ask(house, ada, { workflow: 'automatic' }),
      await ask(house, ada, { workflow: 'automatic' }),
    ];
    expect(holds()).toBe(true);
    await returnAccess(ada, { execution_id: one });
    const gate = heldBeforeCommit(ada);
    const returning = returnAccess(gate.ctx, { execution_id: other });
    await gate.reached;
    // The worker that the first return woke runs just before the second return commits. It leaves the row to the worker that the
    // second return wakes.
    await reconcileEntitlement(house.ctx, { entitlementId: await entitlementId() });
    expect(await stateOf()).toMatchObject({ state: 'granted', lease_until: null });
    gate.open();
    await returning;
    await house.work();
    expect(holds()).toBe(false);
  });

  it('is not made by a claim that began before an intent was committed: that claim leaves the row alone', async () => {
    const { house, ada } = cast;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    // A claim to revoke, which has its snapshot and is stopped when it first reads the clock.
    const stopped = await stopClockOf(house, 'late');
    const client = openDatabase(house.database.url, { max: 1, applicationName: 'late' });
    const claiming = claimDue({ ...house.ctx, db: client.db }, { provider: 'memory', limit: 10 });
    await stopped.reached();
    const later = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const before = await stateOf();
    await house.database.sql`update entitlements set due_at = app_now(), lease_until = null`;
    await stopped.release();
    expect(await claiming).toEqual([]);
    await client.close();
    expect(await stateOf()).toMatchObject({ state: 'granted', fence: before.fence });
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('is not made by a return that began before an intent was committed: that return makes the row due', async () => {
    const { house, ada } = cast;
    const one = await ask(house, ada, { workflow: 'fleeting' });
    const stopped = await stopClockOf(house, 'late');
    const client = openDatabase(house.database.url, { max: 1, applicationName: 'late' });
    const worker = withPlaces({ ...ada, db: client.db }, 1);
    const returning = returnAccess(worker.ctx, { execution_id: one });
    await stopped.reached();
    const later = await ask(house, ada, { workflow: 'fleeting' });
    const before = await stateOf();
    await stopped.release();
    await returning;
    await client.close();
    expect(await stateOf()).toMatchObject({ state: 'granted', fence: before.fence });
    expect([worker.bulkheads.length, worker.taken()]).toEqual([1, 0]);
    expect((await getExecution(ada, { id: one })).grants).toMatchObject([{ state: 'ended' }]);
    await house.work();
    expect((await getExecution(ada, { id: later })).grants).toMatchObject([{ state: 'active' }]);
    expect(holds()).toBe(true);
  });

  it.each(['grant', 'revoke'] as const)('of a recorded %s takes the grants before the entitlement', async (task) => {
    const { house, ada } = cast;
    const { sql } = house.database;
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.pass(task === 'revoke' ? 5 * second : 0);
    await house.database.advance(task === 'revoke' ? hour : 5 * second);
    const claims = await claimDue(house.ctx, { provider: 'memory', limit: 10 });
    expect(claims).toMatchObject([{ task }]);
    let performing: Promise<void> | undefined;
    await sql.begin(async (tx) => {
      await tx`select id from grants for update`;
      performing = performClaims(house.ctx, claims);
      await someoneWaits(house);
      await tx`select id from entitlements for update nowait`;
    });
    await performing;
    expect(await stateOf()).toMatchObject({ state: task === 'grant' ? 'granted' : 'absent', lease_until: null });
  });

  it('that ends an execution leaves no turn behind that was marked while it waited for the lock', async () => {
    const { house, ada } = cast;
    const { sql } = house.database;
    const id = await ask(house, ada, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: id });
    // As in an execution of an older version, which made no mark at the start.
    await sql`delete from steps where key = '/'`;
    let recording: Promise<unknown> | undefined;
    await sql.begin(async (tx) => {
      await tx`select from executions where id = ${id} for update`;
      recording = reconcileEntitlement(house.ctx, { entitlementId: await entitlementId() });
      await someoneWaits(house);
      await tx`insert into steps (execution_id, key, kind, status, request, attempt, due_at)
        values (${id}, '/', 'turn', 'open', '{}', 1, app_now())`;
    });
    await recording;
    expect(await statusOf(ada, id)).toBe('completed');
    expect(await sql`select key from steps`).toEqual([{ key: '/' }]);
    await house.work();
    expect(await sql`select key from steps`).toEqual([]);
  });

  it('is made anew under the lock when the row is not as its claim left it', async () => {
    const { house, ada } = cast;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.database.advance(hour);
    const claims = await claimDue(house.ctx, { provider: 'memory', limit: 10 });
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await performClaims(house.ctx, claims);
    expect(holds()).toBe(false);
    expect(await stateOf()).toMatchObject({ state: 'granting' });
    await house.work();
    expect(holds()).toBe(true);
  });
});

describe('on the wire', () => {
  let cast: Cast;
  let wire: Wire;
  let sent: string[][];

  beforeAll(async () => {
    cast = await openCast();
    const { house, ada, grace } = cast;
    wire = await openWire(house.database.url);
    const client = openDatabase(wire.url);
    const through = { db: client.db };
    const work = () => sweep({ ...house.ctx, ...through });
    try {
      const id = await request({ ...ada, ...through });
      await work();
      await approve({ ...grace, ...through }, id);
      await work();
      expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
      await returnAccess({ ...ada, ...through }, { execution_id: id });
      await work();
      expect(house.provider.held()).toEqual([]);
      sent = wire.transactions();
    } finally {
      await client.close();
    }
  });
  afterAll(async () => {
    await wire[Symbol.asyncDispose]();
    await cast[Symbol.asyncDispose]();
  });

  const lock = (table: string) => new RegExp(`^select .* from "${table}" where .* for update$`, 's');
  const lockAlone = (table: string) => new RegExp(`^select from "${table}" where .* for update$`, 's');

  it.each<[string, RegExp[]]>([
    [
      'a move that ends an execution locks it before it writes',
      [lockAlone('executions'), /^with moved as \(\s*update "executions"/],
    ],
    [
      'a return locks the execution, ends its grants, and reads the parked steps after that',
      [lock('executions'), /update "grants" g set ended_at/, /parked as \([^)]*from "steps"/],
    ],
  ])('%s', (_, order) => {
    const found = sent.filter((statements) => order.every((form) => statements.some((text) => form.test(text))));
    expect(found, sent.map((statements) => statements.join('\n')).join('\n\n')).not.toEqual([]);
    for (const statements of found) {
      const places = order.map((form) => statements.findIndex((text) => form.test(text)));
      expect(places, statements.join('\n')).toEqual([...places].sort((a, b) => a - b));
    }
  });
});
