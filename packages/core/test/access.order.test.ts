import { getExecution, reconcileEntitlement, returnAccess, sweep } from '@belay/core';
import { openDatabase } from '@belay/db';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { heldBeforeCommit, someoneWaits } from './support/gate.js';
import { access, approve, ask, type Cast, openCast, request } from './support/stories.js';
import { openWire, type Wire } from './support/wire.js';

describe('a decision under a lock', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const holds = () => cast.house.provider.holds('ada@example.com', access);
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
    // The worker that was woken by the first return meets the second just before its commit.
    const reconciling = reconcileEntitlement(house.ctx, { entitlementId: await entitlementId() });
    await someoneWaits(house);
    gate.open();
    await Promise.all([returning, reconciling]);
    await house.work();
    expect(holds()).toBe(false);
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
  const read = (table: string) => new RegExp(`^select (?!.* for update).* from "${table}"`, 's');

  it.each<[string, RegExp[]]>([
    [
      'a move of an execution locks it before it reads its step',
      [lock('executions'), read('steps'), /^update "steps"/],
    ],
    [
      'an intent locks the execution, then the entitlements, and writes the grants last',
      [lock('executions'), read('steps'), lock('entitlements'), /^insert into "grants"/],
    ],
    [
      'a claim locks the entitlement before it reads what is wanted',
      [lock('entitlements'), /^select min\(.* from "grants"/s, /^update "entitlements" .*"lease_until" = app_now/s],
    ],
    [
      'a recorded grant takes the grants before the entitlement',
      [/^update "grants" set "activated_at"/, lock('entitlements'), /^update "entitlements"/],
    ],
    [
      'a return locks the execution before it reads the parked steps',
      [lock('executions'), read('steps'), /^update "grants" set "ended_at"/],
    ],
    [
      'a recorded revocation locks grants and entitlement before it reads what is wanted',
      [lock('grants'), lock('entitlements'), read('grants'), /^update "grants" set "gone_at"/],
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
