import { type Bulkhead, type Context, getExecution, returnAccess } from '@belay/core';
import { performStep } from '@belay/engine';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { someoneWaits } from './support/gate.js';
import { withPlaces } from './support/places.js';
import { access, ask, type Cast, catalogWith, openCast, request, statusOf } from './support/stories.js';

/** A workflow that ends with its access, and one that ends when the access is granted. */
const workflows = ['automatic', 'fleeting'];

describe('what a worker of the same process has a place for', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({ fleeting: [{ grant: { call: 'access.grant' } }] }) });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const row = async () =>
    (await cast.house.database.sql`select state, fence, lease_until > app_now() as leased from entitlements`)[0];
  const stepOf = async (executionId: string) => {
    const [step] = await cast.house.database
      .sql`select key from steps where execution_id = ${executionId} and status = 'open'`;
    return { executionId, key: step?.key as string };
  };
  /** Reads the row at a crashpoint, which is right after a commit. The work of a place starts when the row has been read. */
  const seenAt = <T extends Context>(ctx: T, name: string) => {
    const seen: Promise<unknown>[] = [];
    const crashpoint = (at: string) => void (at === name && seen.push(row()));
    const reserve = (bulkhead: Bulkhead) => {
      const place = ctx.waker.reserve?.(bulkhead);
      if (!place) return null;
      return { ...place, run: (work: () => Promise<void>) => place.run(() => Promise.all(seen).then(work)) };
    };
    return { ctx: { ...ctx, crashpoint, waker: { ...ctx.waker, reserve } }, seen: () => Promise.all(seen) };
  };

  it('is claimed with the intent of its grant, in one commit', async () => {
    const worker = withPlaces(cast.house.ctx, 2);
    const id = await request(cast.ada, { workflow: 'automatic' });
    const watched = seenAt(worker.ctx, 'intended');
    await performStep(watched.ctx, await stepOf(id));
    await worker.settled();
    expect(await watched.seen()).toEqual([{ state: 'granting', fence: 1, leased: true }]);
    expect(holds()).toBe(true);
    expect(await row()).toMatchObject({ state: 'granted', fence: 1, leased: null });
    expect(worker.bulkheads).toEqual([{ queue: 'entitlements', provider: 'memory', task: 'grant' }]);
    expect(worker.taken()).toBe(0);
    expect((await getExecution(cast.ada, { id })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('is claimed after an intent that had to wait for a change of it', async () => {
    const { house, ada } = cast;
    const earlier = await ask(house, ada, { workflow: 'automatic' });
    await returnAccess(ada, { execution_id: earlier });
    await house.work();
    // The access is gone, and a second revocation is owed (R5).
    const before = await row();
    const id = await request(ada, { workflow: 'automatic' });
    const worker = withPlaces(house.ctx, 2);
    const watched = seenAt(worker.ctx, 'intended');
    const holder = await house.database.sql.reserve();
    await holder`begin`;
    await holder`update entitlements set failures = 0`;
    const performing = performStep(watched.ctx, { executionId: id, key: '/' }, { leased: true });
    await someoneWaits(house);
    await holder`commit`;
    holder.release();
    await performing;
    await worker.settled();
    expect(await watched.seen()).toEqual([{ state: 'granting', fence: before?.fence, leased: null }]);
    await house.work();
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    expect(worker.taken()).toBe(0);
  });

  it.each(workflows)('is claimed with the return of its grant, in one commit (%s)', async (workflow) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow });
    const worker = withPlaces(ada, 1);
    const watched = seenAt(worker.ctx, 'returned');
    await returnAccess(watched.ctx, { execution_id: id });
    await worker.settled();
    expect(await watched.seen()).toEqual([{ state: 'revoking', fence: 2, leased: true }]);
    expect(holds()).toBe(false);
    expect(worker.taken()).toBe(0);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'gone' }]);
  });

  it('is recorded with the step that waits for it: a grant, and the loss with the end of the hold', async () => {
    const { house, ada } = cast;
    const worker = withPlaces(ada, 1);
    const id = await request(ada, { workflow: 'automatic' });
    const said = async () => {
      const [found] = await house.database
        .sql`select e.status, g.activated_at is not null as active, g.gone_at is not null as gone,
        (select string_agg(s.key, ', ') from steps s where s.execution_id = e.id and s.status = 'open') as open
        from executions e join grants g on g.execution_id = e.id where e.id = ${id}`;
      return found;
    };
    const seen: unknown[] = [];
    const crashpoint = (at: string) => void (at === 'recorded with its move' && seen.push(said()));
    const watching = { ...worker.ctx, crashpoint };
    await performStep(watching, await stepOf(id));
    await worker.settled();
    await Promise.all(seen);
    await returnAccess(watching, { execution_id: id });
    await worker.settled();
    expect(await Promise.all(seen)).toMatchObject([
      { status: 'waiting', active: true, gone: false, open: expect.stringContaining('/hold') },
      { status: 'completed', active: true, gone: true, open: null },
    ]);
    const history = (await getExecution(ada, { id })).grants;
    expect(history).toMatchObject([{ state: 'gone' }]);
  });

  it('is recorded by itself when the execution has moved on, and the step looks at it then', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'automatic' });
    const worker = withPlaces(house.ctx, 1);
    let moved = false;
    // Writes another move between the decision about this one and its statement.
    const { client } = worker.ctx.db._.session as unknown as { client: { unsafe(...sent: unknown[]): unknown } };
    const unsafe = async (text: string, ...sent: unknown[]) => {
      if (!moved && text.startsWith('with current')) {
        moved = true;
        await house.database.sql`update executions set version = version + 1 where id = ${id}`;
      }
      return client.unsafe(text, ...sent);
    };
    const db = new Proxy(worker.ctx.db, {
      get: (target, property) =>
        property === '_' ? { ...target._, session: { client: { unsafe } } } : Reflect.get(target, property),
    });
    await performStep({ ...worker.ctx, db }, await stepOf(id));
    await worker.settled();
    expect(moved).toBe(true);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    await house.work();
    expect(await statusOf(ada, id)).toBe('waiting');
  });

  it.each(workflows)('is due and hinted when no place is free (%s)', async (workflow) => {
    const { house, ada } = cast;
    const worker = withPlaces(ada, 0);
    const id = await request(ada, { workflow });
    await performStep(worker.ctx, await stepOf(id));
    expect(await row()).toMatchObject({ state: 'granting', fence: 0, leased: null });
    expect(worker.jobs).toContainEqual(expect.objectContaining({ queue: 'entitlements', provider: 'memory' }));
    await house.work();
    expect(holds()).toBe(true);
    worker.jobs.length = 0;
    await returnAccess(worker.ctx, { execution_id: id });
    expect(worker.jobs).toContainEqual(expect.objectContaining({ queue: 'entitlements', provider: 'memory' }));
    expect(holds()).toBe(true);
    await sweep(house.ctx);
    expect(holds()).toBe(false);
  });

  it.each(workflows)('is left to a worker that has its lease, and due after it (%s)', async (workflow) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow });
    await house.database.sql`update entitlements set fence = 7, lease_until = app_now() + interval '45 seconds'`;
    const worker = withPlaces(ada, 1);
    await returnAccess(worker.ctx, { execution_id: id });
    expect([worker.taken(), (await row())?.fence]).toEqual([0, 7]);
    await house.pass(46_000);
    expect(holds()).toBe(false);
  });

  it.each(workflows)('rests when another grant keeps the access (%s)', async (workflow) => {
    const { house, ada } = cast;
    const first = await ask(house, ada, { workflow });
    await ask(house, ada, { workflow, duration: 'PT1H' });
    const worker = withPlaces(ada, 1);
    const before = house.provider.count('ensureAbsent');
    await returnAccess(worker.ctx, { execution_id: first });
    await worker.settled();
    expect([house.provider.count('ensureAbsent') - before, holds(), worker.taken()]).toEqual([0, true, 0]);
  });

  it.each(workflows)('tells the end of another grant whose time is over (%s)', async (workflow) => {
    const { house, ada } = cast;
    const first = await ask(house, ada, { workflow, duration: 'PT30M' });
    const other = await ask(house, ada, { workflow, duration: 'PT1H' });
    await house.database.advance(31 * 60_000);
    const worker = withPlaces(ada, 1);
    await returnAccess(worker.ctx, { execution_id: other });
    await worker.settled();
    await house.work();
    const told = await house.database.sql`
      select execution_id, type from ledger where type in ('grant.ended', 'grant.expired') order by seq`;
    expect([...told]).toEqual([
      { execution_id: other, type: 'grant.ended' },
      { execution_id: first, type: 'grant.expired' },
    ]);
    expect([holds(), worker.taken()]).toEqual([false, 0]);
  });

  it.each(workflows)('frees its places when nothing was committed (%s)', async (workflow) => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow });
    const worker = withPlaces(ada, 4);
    await house.database.sql.unsafe(`
      create function reject() returns trigger language plpgsql as $$ begin raise exception 'The commit failed'; end $$;
      create constraint trigger rejected after update on entitlements deferrable initially deferred
        for each row execute function reject()`);
    await expect(returnAccess(worker.ctx, { execution_id: id })).rejects.toThrow('The commit failed');
    expect([worker.bulkheads.length, worker.taken()]).toEqual([1, 0]);
    await house.database.sql.unsafe('drop trigger rejected on entitlements');
    await returnAccess(ada, { execution_id: id });
  });
});
