import {
  type ArchiveFiles,
  addComment,
  archiveLedger,
  deleteArchived,
  deleteRequests,
  deleteSettled,
  extendElevation,
  getExecution,
  listExecutions,
  returnAccess,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, day, deny, hour, openCast, together } from './support/stories.js';

let cast: Cast;
beforeEach(async () => {
  const server = { retention: { requests: 'P100D', ledger: 'P100D' } };
  const messages = { channels: ['memory'], kinds: ['request.waiting', 'access.ended'] };
  cast = await openCast({ catalog: { ...approvalCatalog(), server, messages } });
});
afterEach(() => cast[Symbol.asyncDispose]());

/** Makes an approved request with a comment, and lets it end. */
async function past(): Promise<string> {
  const { house, ada, grace } = cast;
  const id = await ask(house, ada);
  await addComment(ada, { id, text: 'for the ticket' });
  await approve(grace, id);
  await house.work();
  for (let step = 0; step < 4; step += 1) await house.pass(hour);
  return id;
}

/** Returns a crashpoint function that throws at the named point. */
const stopAt = (name: string) => (reached: string) => {
  if (reached === name) throw new Error(name);
};

const remove = async () => {
  await deleteSettled(cast.house.ctx);
  return deleteRequests(cast.house.ctx);
};

const tables = [
  'executions',
  'steps',
  'approvals',
  'approval_audience',
  'decisions',
  'grants',
  'comments',
  'task_events',
  'runs',
  'messages',
  'notices',
];

/** Returns how many rows are left in all tables of requests. */
async function left(): Promise<number> {
  const counts = await Promise.all(
    tables.map((table) => cast.house.database.sql`select count(*)::int as n from ${cast.house.database.sql(table)}`),
  );
  return counts.reduce((sum, [row]) => sum + (row?.n as number), 0);
}

describe('requests that are over', () => {
  it('are deleted after the retention with all their rows, and what people did is in the ledger', async () => {
    const { house, ada, grace } = cast;
    const id = await past();
    const refused = await ask(house, ada);
    await deny(grace, refused);
    await house.work();
    await house.pass(99 * day);
    expect(await remove()).toBe(0);
    await house.pass(2 * day);
    expect([await remove(), await left()]).toEqual([2, 0]);
    await expect(getExecution(ada, { id })).rejects.toMatchObject({ code: 'not_found' });
    expect((await listExecutions(ada, {})).executions).toEqual([]);
    const entries = await house.database.sql`
      select execution_id, user_id, data from ledger where type = 'request.deleted' order by seq`;
    expect(entries.map((entry) => entry.execution_id)).toEqual([id, refused]);
    expect(entries[0]).toMatchObject({
      user_id: ada.actor.id,
      data: {
        owner: 'ada@example.com',
        requests: [
          {
            id,
            workflow: 'approved',
            status: 'completed',
            input: { role: 'reader', reason: 'a ticket' },
            approvals: [{ status: 'approved' }],
            decisions: [{ verdict: 'approve', email: 'grace@example.com' }],
            comments: [{ text: 'for the ticket', email: 'ada@example.com' }],
            grants: [{ ended_reason: null }],
          },
        ],
      },
    });
    expect(entries[0]?.data.requests[0].task_events.length).toBeGreaterThan(0);
  });

  it('are deleted together with what extends them, and not before the last of them is over for so long', async () => {
    const { house, ada } = cast;
    const parent = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    const { output } = await extendElevation(ada, { id: parent, duration: 'PT8H' });
    await house.work();
    await returnAccess(ada, { execution_id: output.execution_id });
    for (let step = 0; step < 4; step += 1) await house.pass(12 * hour);
    await house.pass(101 * day);
    const { sql } = house.database;
    await sql`update executions set ended_at = null, status = 'waiting' where id = ${output.execution_id}`;
    expect(await remove()).toBe(0);
    await sql`update executions set ended_at = app_now() - interval '99 days', status = 'completed' where id = ${output.execution_id}`;
    expect(await remove()).toBe(0);
    await house.pass(2 * day);
    expect([await remove(), await left()]).toEqual([1, 0]);
    const [entry] = await sql`select data from ledger where type = 'request.deleted'`;
    expect(entry?.data.requests.map(({ id }: { id: string }) => id)).toEqual([parent, output.execution_id]);
  });

  it('are kept while access is owed, while a restored database waits, and for ever without a retention', async () => {
    const { house } = cast;
    await past();
    await house.pass(200 * day);
    const { sql } = house.database;
    const before = await left();
    await sql`update grants set gone_at = null`;
    expect([await remove(), await left()]).toEqual([0, before]);
    await sql`update grants set gone_at = app_now() - interval '150 days'`;
    await sql`insert into restores (epoch, closed_at, reason) values (1, app_now(), 'a drill')`;
    expect([await remove(), await left()]).toEqual([0, before]);
    await sql`update restores set closed_at = null`;
    await house.applyCatalog(approvalCatalog());
    expect(await remove()).toBe(0);
  });

  it('are deleted by two workers at once, each once, and not in part when one is killed', async () => {
    const { house } = cast;
    const ids: string[] = [];
    for (let nth = 0; nth < 3; nth += 1) ids.push(await past());
    await house.pass(200 * day);
    await deleteSettled(house.ctx);
    const before = await left();
    const { sql } = house.database;
    await sql`create function interrupt() returns trigger language plpgsql as $$ begin raise exception 'killed'; end $$`;
    await sql`create trigger interrupts after delete on executions for each row execute function interrupt()`;
    await expect(deleteRequests(house.ctx)).rejects.toThrow();
    expect(await left()).toBe(before);
    expect(await sql`select 1 from ledger where type = 'request.deleted'`).toHaveLength(0);
    await sql`drop trigger interrupts on executions`;
    const deleted: number[] = [];
    const worker = async () => void deleted.push(await deleteRequests(house.ctx));
    expect(await together([worker(), worker()])).toEqual(['ok', 'ok']);
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(3);
    const entries = await sql`select execution_id from ledger where type = 'request.deleted'`;
    expect(new Set(entries.map((entry) => entry.execution_id))).toEqual(new Set(ids));
    expect([entries.length, await left()]).toEqual([3, 0]);
  });

  it('leave comments append-only: one is deleted with its request and in no other way', async () => {
    await past();
    const { sql } = cast.house.database;
    await expect(sql`delete from comments`).rejects.toThrow('append-only');
    await expect(sql`update comments set text = 'forged'`).rejects.toThrow('append-only');
  });
});

describe('a worker that stops', () => {
  it('after it deleted requests leaves whole families, and another one goes on', async () => {
    const { house } = cast;
    await past();
    await house.pass(101 * day);
    await deleteSettled(house.ctx);
    const crashpoint = stopAt('requests deleted');
    await expect(deleteRequests({ ...house.ctx, crashpoint })).rejects.toThrow('requests deleted');
    expect([await remove(), await left()]).toEqual([0, 0]);
  });

  it('with an archive that is not recorded, or a block that is gone, deletes what was archived and nothing else', async () => {
    const { house } = cast;
    await past();
    await house.pass(140 * day);
    const { sql } = house.database;
    const entries = async () => (await sql`select seq from ledger where at < '2026-04-01' order by seq`).length;
    const files: ArchiveFiles = {
      async write(month, blocks) {
        const made = [];
        for await (const { block } of blocks) made.push(block);
        const rows = made.reduce((sum, block) => sum + block.rows, 0);
        return { rows, sha256: made[0]?.sha256 ?? month, file: month, blocks: made };
      },
    };
    const before = await entries();
    const operator = house.operator();
    const interrupted = { ...operator, crashpoint: stopAt('archive written') };
    await expect(archiveLedger(interrupted, files)).rejects.toThrow('archive written');
    expect([await deleteArchived(house.ctx), await entries()]).toEqual([0, before]);
    expect((await archiveLedger(operator, files)).archived).toMatchObject([{ month: '2026-03', rows: before }]);
    const crashpoint = stopAt('block deleted');
    await expect(deleteArchived({ ...house.ctx, crashpoint })).rejects.toThrow('block deleted');
    await deleteArchived(house.ctx);
    expect(await entries()).toBe(0);
    expect(await sql`select 1 from ledger where type = 'ledger.deleted'`).toHaveLength(1);
  });
});
