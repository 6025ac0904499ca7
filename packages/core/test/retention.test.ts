import { beginRestore, deleteSettled, endRun, extendElevation, startRun } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, day, hour, openCast, together } from './support/stories.js';

const kinds = ['request.waiting', 'request.decided', 'access.active', 'access.ended'];

let cast: Cast;
beforeEach(async () => {
  cast = await openCast({ catalog: { ...approvalCatalog(), messages: { channels: ['memory'], kinds } } });
});
afterEach(() => cast[Symbol.asyncDispose]());

async function counted() {
  const [row] = await cast.house.database.sql<{ runs: number; messages: number; notices: number }[]>`
    select (select count(*)::int from runs) as runs, (select count(*)::int from messages) as messages,
      (select count(*)::int from notices) as notices`;
  return row;
}

/** Makes an approved request and a run, with their messages, and lets both end. */
async function live(): Promise<void> {
  const { house, ada, grace } = cast;
  const id = await ask(house, ada, { duration: 'PT30M' });
  await approve(grace, id);
  const run = await startRun(ada, { role: 'reader', reason: 'a ticket', workflow: 'automatic', duration: 'PT30M' });
  await house.work();
  await endRun(ada, run);
  for (let step = 0; step < 4; step += 1) await house.pass(hour);
}

const none = { runs: 0, messages: 0, notices: 0 };

describe('rows that work left behind', () => {
  it('are deleted when their request has been over for a week, and not a day earlier', async () => {
    await live();
    const before = await counted();
    expect(before).toMatchObject({ runs: 1 });
    expect(before?.messages).toBeGreaterThan(3);
    await cast.house.pass(6 * day);
    expect(await deleteSettled(cast.house.ctx)).toBe(0);
    await cast.house.pass(2 * day);
    await deleteSettled(cast.house.ctx);
    expect(await counted()).toEqual(none);
    const [ledger] = await cast.house.database.sql`select count(*)::int as n from ledger`;
    expect(ledger?.n).toBeGreaterThan(10);
  });

  it('are kept while anything of the request is open, held or owed', async () => {
    await live();
    await cast.house.pass(20 * day);
    const { sql } = cast.house.database;
    const before = await counted();
    await sql`update grants set gone_at = null`;
    expect(await deleteSettled(cast.house.ctx)).toBe(0);
    await sql`update grants set gone_at = app_now() - interval '1 day'`;
    expect(await deleteSettled(cast.house.ctx)).toBe(0);
    await sql`update grants set gone_at = app_now() - interval '19 days'`;
    await sql`update executions set ended_at = null, status = 'waiting'`;
    expect(await deleteSettled(cast.house.ctx)).toBe(0);
    expect(await counted()).toEqual(before);
    await sql`update executions set ended_at = app_now() - interval '19 days', status = 'completed'`;
    await deleteSettled(cast.house.ctx);
    expect(await counted()).toEqual(none);
  });

  it('are kept while an extension of the request is open, in both directions', async () => {
    const { house, ada } = cast;
    const parent = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const { output } = await extendElevation(ada, { id: parent, duration: 'PT1H' });
    await house.work();
    const { sql } = house.database;
    for (let step = 0; step < 4; step += 1) await house.pass(hour);
    await house.pass(10 * day);
    for (const open of [parent, output.execution_id]) {
      const before = await counted();
      expect(before?.notices).toBeGreaterThan(0);
      await sql`update executions set ended_at = null, status = 'waiting' where id = ${open}`;
      expect(await deleteSettled(house.ctx)).toBe(0);
      await sql`update executions set ended_at = created_at, status = 'completed' where id = ${open}`;
    }
    await deleteSettled(house.ctx);
    expect(await counted()).toEqual(none);
  });

  it('are kept while a restored database waits for its comparison', async () => {
    await live();
    await cast.house.pass(20 * day);
    await beginRestore(cast.house.operator(), { reason: 'a restore' });
    expect(await deleteSettled(cast.house.ctx)).toBe(0);
  });

  it('are deleted in slices, by two workers at once, each row once', async () => {
    for (let nth = 0; nth < 3; nth += 1) await live();
    await cast.house.pass(20 * day);
    const before = await counted();
    const rows = Object.values(before ?? {}).reduce((sum, count) => sum + count, 0);
    const ctx = { ...cast.house.ctx, timing: { ...cast.house.ctx.timing, settled: { after: 7 * day, slice: 2 } } };
    const deleted: number[] = [];
    const worker = async () => void deleted.push(await deleteSettled(ctx));
    expect(await together([worker(), worker()])).toEqual(['ok', 'ok']);
    await worker();
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(rows);
    expect(await counted()).toEqual(none);
  });

  it('lose whole slices only: what a killed worker had begun is rolled back', async () => {
    await live();
    await cast.house.pass(20 * day);
    const before = await counted();
    const { sql } = cast.house.database;
    await sql`
      create function interrupt() returns trigger language plpgsql as
      $$ begin raise exception 'killed'; end $$`;
    await sql`create trigger interrupts after delete on notices for each row execute function interrupt()`;
    await expect(deleteSettled(cast.house.ctx)).rejects.toThrow();
    expect(await counted()).toEqual({ ...before, runs: 0, messages: 0 });
    await sql`drop trigger interrupts on notices`;
    await deleteSettled(cast.house.ctx);
    expect(await counted()).toEqual(none);
  });
});
