import type { EventType } from '@belay/contract/event-types';
import type { LogFilter } from '@belay/contract/logs';
import {
  type ActorContext,
  appendLedger,
  enrollAgent,
  exportLogs,
  listLogs,
  recordLogs,
  verifyAgent,
  withActor,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, minute, openCast } from './support/stories.js';

let cast: Cast;
let agent: ActorContext;
const open = async () => {
  cast = await openCast({ catalog: catalogWith({}) });
  const { house } = cast;
  const { credential } = await enrollAgent(house.operator(), { name: 'build-3', ttl: 'P1D' });
  const actor = await verifyAgent(house.ctx, { token: credential });
  if (!actor) throw new Error('not an agent');
  agent = withActor(house.ctx, actor);
};
const entry = { timestamp: '2026-02-28T23:59:59+01:00', level: 'info' as const, message: 'Disk is full' };

describe('entries from an agent', () => {
  beforeEach(open);
  afterEach(() => cast[Symbol.asyncDispose]());
  const rows = () => cast.house.database.sql`select * from ledger where type = 'agent.log' order by seq`;

  it('are kept as the agent’s word, at our time, about no person', async () => {
    const told = { ...entry, type: 'access.granted', provider: 'memory', workflow_id: cast.ada.actor.id };
    expect(await recordLogs(agent, { entries: [told, { ...entry, level: 'error' }] })).toEqual({ accepted: 2 });
    expect([...(await rows())]).toMatchObject([
      {
        at: new Date('2026-03-01T10:00:00.000Z'),
        level: 'info',
        message: '[build-3] Disk is full',
        actor: { kind: 'agent', name: 'build-3' },
        user_id: null,
        provider: null,
        execution_id: null,
        data: { reported_at: entry.timestamp, type: 'access.granted', workflow_id: cast.ada.actor.id },
      },
      { level: 'error' },
    ]);
  });

  it('cannot pass for an entry of ours, or for one about a person', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic' });
    const forged = {
      ...entry,
      type: 'catalog.applied',
      provider: 'memory',
      workflow_id: id,
      user: ada.actor.email,
      user_id: ada.actor.id,
      actor: { system: 'catalog' },
    };
    const before = await listLogs(ada, {});
    await recordLogs(agent, { entries: [forged] });
    expect(await listLogs(ada, {})).toEqual(before);
    expect((await exportLogs(ada, { workflow_id: id })).logs.map(({ message }) => message)).not.toContain(
      '[build-3] Disk is full',
    );
    const [row] = await rows();
    expect(JSON.stringify(row)).not.toContain(ada.actor.email);
    expect(row).toMatchObject({ actor: { kind: 'agent' }, user_id: null, execution_id: null });
  });

  it('are bounded and well-formed, and taken all or none', async () => {
    const wrong = [
      [],
      Array.from({ length: 201 }, () => entry),
      [entry, { ...entry, message: 'x'.repeat(2_001) }],
      [entry, { ...entry, message: 'a\0b' }],
      [entry, { ...entry, timestamp: 'yesterday' }],
      [entry, { ...entry, type: 'x'.repeat(201) }],
    ];
    for (const entries of wrong) {
      await expect(recordLogs(agent, { entries })).rejects.toMatchObject({ code: 'invalid' });
    }
    expect(await rows()).toHaveLength(0);
  });

  it('are taken from agents only', async () => {
    await expect(recordLogs(cast.ada, { entries: [entry] })).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('the logs of a person', () => {
  beforeAll(async () => {
    await open();
    const { house, ada, mallory } = cast;
    await ask(house, ada, { workflow: 'automatic' });
    await house.database.advance(10 * minute);
    const note = (person: typeof ada, number: number) => ({
      type: (number % 2 ? 'note.odd' : 'note.even') as string as EventType,
      level: number % 10 === 0 ? ('error' as const) : ('info' as const),
      message: `note ${number}`,
      actor: person.actor,
      userId: person.actor.id,
      provider: number % 5 === 0 ? 'memory' : null,
    });
    const numbers = Array.from({ length: 1_203 }, (_, number) => number);
    await appendLedger(house.database.db, [
      ...numbers.map((number) => note(ada, number)),
      ...numbers.map((number) => note(mallory, number)),
    ]);
    await recordLogs(agent, { entries: [entry] });
  });
  afterAll(() => cast[Symbol.asyncDispose]());

  /** Returns all entries, page by page. */
  async function everything(person: ActorContext, filter: LogFilter & { limit?: number } = {}) {
    const logs: { message: string; cursor: string; user: string; owner: string; type: string }[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await exportLogs(person, { ...filter, cursor });
      logs.push(...page.logs);
      cursor = page.next;
    }
    return logs;
  }

  it('are their own and what concerns everyone: nothing of others, of agents or of operators', async () => {
    const { ada, mallory } = cast;
    const all = await everything(ada);
    expect(new Set(all.map(({ owner }) => owner))).toEqual(new Set([ada.actor.email, '']));
    expect(new Set(all.map(({ user }) => user))).toEqual(new Set([ada.actor.email, '']));
    expect(all.filter(({ owner }) => owner === '').map(({ type }) => type)).toEqual(['catalog.applied']);
    expect((await everything(mallory)).filter(({ type }) => !type.startsWith('note.'))).toHaveLength(1);
    expect(await everything(mallory, { user: ada.actor.email })).toEqual([]);
    const [id] = all.map((one) => (one as unknown as { workflow_id: string }).workflow_id).filter(Boolean);
    expect(await everything(mallory, { workflow_id: String(id) })).toEqual([]);
    expect((await everything(ada, { workflow_id: String(id) })).length).toBeGreaterThan(3);
  });

  it('are the newest 500 in the list, and all of them in the export, each once, with pages of any size', async () => {
    const { ada } = cast;
    const { logs } = await listLogs(ada, {});
    expect(logs).toHaveLength(500);
    expect(logs[0]?.message).toBe('note 1202');
    for (const limit of [500, 97]) {
      const all = await everything(ada, { limit });
      const notes = all.filter(({ type }) => type.startsWith('note.'));
      expect(notes.map(({ message }) => message)).toEqual(
        Array.from({ length: 1_203 }, (_, number) => `note ${1_202 - number}`),
      );
      expect(new Set(all.map(({ cursor }) => cursor)).size).toBe(all.length);
    }
    await expect(exportLogs(ada, { cursor: '1; drop table ledger' })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('are filtered by level, type, provider and time', async () => {
    const { ada } = cast;
    const count = async (filter: LogFilter) => (await everything(ada, filter)).length;
    expect(await count({ level: 'error' })).toBe(121);
    expect(await count({ type: 'note.odd' })).toBe(601);
    expect(await count({ type: 'note.even', level: 'error', provider: 'memory' })).toBe(121);
    expect(await count({ type: 'catalog.applied' })).toBe(1);
    expect(await count({ since: '2026-03-01T10:10:00.000Z' })).toBe(1_203);
    expect(await count({ since: '2026-03-01T11:10:00+01:00' })).toBe(1_203);
    expect(await count({ since: '2026-03-01T10:10:00.001Z' })).toBe(0);
    const early = await everything(ada, { until: '2026-03-01T10:09:59.999Z' });
    expect(early.length).toBeGreaterThan(3);
    expect(early.some(({ type }) => type.startsWith('note.'))).toBe(false);
    await expect(listLogs(ada, { since: 'yesterday' })).rejects.toMatchObject({ issues: [{ path: 'since' }] });
  });

  it('are found by an index, without sorting all entries of the person, in a ledger of years', async () => {
    const { house, ada } = cast;
    await house.database.sql.unsafe(`
      insert into ledger (type, level, message, actor, user_id)
        select case when n % 3 = 0 then 'agent.log' else 'filler' end, 'info', 'filler', '{}',
          case when n % 3 = 0 then null when n % 2 = 0 then '${ada.actor.id}'::uuid else '${cast.mallory.actor.id}'::uuid end
        from generate_series(1, 60000) n`);
    await house.database.sql.unsafe('analyze ledger');
    const one = openDatabase(house.database.url, { max: 1 });
    try {
      // Counted within one transaction, because the reads of other connections reach the views of the whole database at any later time.
      await one.db.transaction(async (db) => {
        const me = withActor({ ...house.ctx, db }, ada.actor);
        const counters = async () => {
          const [row] = await db.execute<{ scans: number; fetched: number }>(
            `select seq_scan::int as scans, idx_tup_fetch::int as fetched from pg_stat_xact_user_tables where relname = 'ledger'`,
          );
          return { scans: Number(row?.scans), fetched: Number(row?.fetched) };
        };
        const before = await counters();
        let cursor: string | undefined;
        for (let time = 0; time < 7; time += 1) {
          const page = await exportLogs(me, { cursor, limit: 100 });
          cursor = page.next ?? undefined;
        }
        const after = await counters();
        expect(after.scans - before.scans).toBe(0);
        // Seven pages of a hundred, each with the rest of a range, of which a third is hers (437). A sort of all her
        // entries would have fetched twenty thousand each time.
        expect(after.fetched - before.fetched).toBeLessThan(7 * (100 + 437) + 100);
      });
    } finally {
      await one.close();
    }
  });
});
