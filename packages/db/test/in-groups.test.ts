import { executeBeside, executeFor, inGroups, openDatabase, sqlText } from '@belay/db';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('items in groups', () => {
  /** Returns the groups that `work` received, each with functions that end it or make it fail. */
  function held(keysOf?: (item: string) => string[]) {
    const groups: { items: readonly string[]; end(): void; fail(error: unknown): void }[] = [];
    const send = inGroups(
      (items: readonly [string, ...string[]]) =>
        new Promise<string[]>((resolve, fail) => {
          groups.push({ items, fail, end: () => resolve(items.map((item) => item.toUpperCase())) });
        }),
      keysOf,
    );
    const sharing = {};
    return { groups, send: (item: string) => send(sharing, item), sendElsewhere: (item: string) => send({}, item) };
  }

  it('share a group when they arrive in one turn of the event loop, and each gets its own result', async () => {
    const { groups, send, sendElsewhere } = held();
    const all = Promise.all(['a', 'b', 'c'].map(send));
    const elsewhere = sendElsewhere('d');
    await nextTurn();
    expect(groups.map(({ items }) => items)).toEqual([['a', 'b', 'c'], ['d']]);
    for (const { end } of groups) end();
    expect(await all).toEqual(['A', 'B', 'C']);
    expect(await elsewhere).toBe('D');
  });

  it('wait while two groups are in progress, and then form one group', async () => {
    const { groups, send } = held();
    const sent: Promise<string>[] = [];
    for (const item of ['a', 'b', 'c', 'd']) {
      sent.push(send(item));
      await nextTurn();
    }
    expect(groups.map(({ items }) => items)).toEqual([['a'], ['b']]);
    groups[1]?.end();
    await sent[1];
    await nextTurn();
    await nextTurn();
    expect(groups.map(({ items }) => items)).toEqual([['a'], ['b'], ['c', 'd']]);
    groups[0]?.end();
    groups[2]?.end();
    expect(await Promise.all(sent)).toEqual(['A', 'B', 'C', 'D']);
  });

  it('are at most twenty-five in one group', async () => {
    const { groups, send } = held();
    const sent = Array.from({ length: 60 }, (_, index) => send(String(index)));
    while (groups.length < 3) {
      await nextTurn();
      for (const { end } of groups) end();
    }
    expect(groups.map(({ items }) => items.length)).toEqual([25, 25, 10]);
    expect(new Set(await Promise.all(sent)).size).toBe(60);
  });

  it('do not wait for groups that take longer than half a second, however many these are', async () => {
    const { groups, send } = held();
    const sent: Promise<string>[] = [];
    for (const item of ['a', 'b', 'c']) {
      sent.push(send(item));
      await nextTurn();
    }
    await expect.poll(() => groups.map(({ items }) => items)).toEqual([['a'], ['b'], ['c']]);
    sent.push(send('d'));
    await nextTurn();
    expect(groups.map(({ items }) => items)).toEqual([['a'], ['b'], ['c'], ['d']]);
    for (const { end } of groups) end();
    expect(await Promise.all(sent)).toEqual(['A', 'B', 'C', 'D']);
  });

  it('with a key in common are never in one group', async () => {
    const { groups, send } = held((item) => [item.charAt(0)]);
    const sent = ['a1', 'b1', 'a2', 'c1'].map(send);
    await nextTurn();
    await nextTurn();
    expect(groups.map(({ items }) => items)).toEqual([['a1', 'b1', 'c1'], ['a2']]);
    for (const { end } of groups) end();
    expect(await Promise.all(sent)).toEqual(['A1', 'B1', 'A2', 'C1']);
  });

  it('all get an error that does not come from the database', async () => {
    const { groups, send } = held();
    const sent = Promise.allSettled(['a', 'b'].map(send));
    await nextTurn();
    groups[0]?.fail(new Error('lost'));
    expect((await sent).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(groups).toHaveLength(1);
  });
});

describe('statements of several callers', () => {
  let database: TestDatabase;
  let proxy: FaultyProxy;
  let client: ReturnType<typeof openDatabase>;
  const statements: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.sql`create table counted (id int primary key, times int not null default 0 check (times < 3))`;
    const target = new URL(database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    client = openDatabase(target.href, { max: 20, onStatement: (_, text) => void statements.push(text) });
  });
  afterAll(async () => {
    await client.close();
    await proxy[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await database.sql`delete from counted`;
    await database.sql`insert into counted (id) select * from generate_series(1, 10)`;
    statements.length = 0;
  });

  const text = (id: number) => sqlText`update counted set times = times + 1 where id = ${id}::int returning id`;
  const count = (id: number) => executeBeside<{ id: number }>(client.db, text(id), [String(id)]);
  const ten = () => Array.from({ length: 10 }, (_, index) => count(index + 1));
  const commits = () => statements.filter((one) => one.startsWith('commit')).length;
  const times = async () =>
    (await database.sql<{ times: number }[]>`select times from counted order by id`).map((row) => row.times);

  it('share a commit, and each caller gets its own rows', async () => {
    expect(await Promise.all(ten())).toEqual(Array.from({ length: 10 }, (_, index) => [{ id: index + 1 }]));
    expect(commits()).toBe(1);
    expect(await times()).toEqual(Array(10).fill(1));
  });

  it('commit by themselves when there is only one caller', async () => {
    expect(await count(1)).toEqual([{ id: 1 }]);
    expect(statements.map((one) => one.split(' ')[0])).toEqual(['update']);
  });

  it('are repeated one by one when one of them fails, so that all others are written', async () => {
    await database.sql`update counted set times = 2 where id = 4`;
    const settled = await Promise.allSettled(ten());
    expect(settled.flatMap(({ status }, index) => (status === 'rejected' ? [index + 1] : []))).toEqual([4]);
    expect(await times()).toEqual([1, 1, 1, 2, 1, 1, 1, 1, 1, 1]);
  });

  /** Locks rows in another session; resolves when they are locked, with the function that releases them. */
  function lockRows(...ids: number[]): Promise<() => Promise<void>> {
    return new Promise((locked, failed) => {
      const holder = database.sql.begin(async (sql) => {
        await sql`select from counted where id = any (${ids}) for update`;
        await new Promise<void>((release) => {
          locked(async () => {
            release();
            await holder;
          });
        });
      });
      holder.catch(failed);
    });
  }

  it('are written while the rows of some callers are locked, all except those', async () => {
    const release = await lockRows(2, 5, 7);
    const locked = [2, 5, 7].map(count);
    await nextTurn();
    const sent = ten();
    await Promise.all(sent.filter((_, index) => ![1, 4, 6].includes(index)));
    // An item that is sent now does not wait either.
    expect(await count(1)).toEqual([{ id: 1 }]);
    expect(await times()).toEqual([2, 0, 1, 1, 0, 1, 0, 1, 1, 1]);
    await release();
    expect(await Promise.all([...locked, sent[6]])).toEqual([[{ id: 2 }], [{ id: 5 }], [{ id: 7 }], [{ id: 7 }]]);
  });

  it('with the same rows in another order do not wait for each other', async () => {
    const both = (ids: readonly number[]) => Promise.all(ids.map(count));
    const counted = [1, 2, 3, 4];
    await nextTurn();
    for (let round = 0; round < 10; round += 1) {
      const first = both(counted);
      await nextTurn();
      await Promise.all([first, both([...counted].reverse())]);
      await database.sql`update counted set times = 0`;
    }
    // Each round commits twice, and nothing is repeated.
    expect(commits()).toBe(20);
  });

  it('fail soon at a locked row when they are hurried, and wait for it otherwise', async () => {
    const release = await lockRows(7);
    await expect(executeFor(client.db, text(7), true)).rejects.toMatchObject({ code: '55P03' });
    const alone = executeFor(client.db, text(7), false);
    await release();
    expect(await alone).toEqual([{ id: 7 }]);
  });

  it('are not repeated while the database rejects every connection', async () => {
    let tried = 0;
    const send = inGroups(async (items: readonly [number, ...number[]]): Promise<number[]> => {
      tried += items.length;
      throw Object.assign(new postgres.PostgresError('starting up'), { code: '57P03' });
    });
    const sharing = {};
    const settled = await Promise.allSettled([1, 2, 3].map((item) => send(sharing, item)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(tried).toBe(3);
  });

  it('all fail when the response to their commit is lost, although they are committed', async () => {
    await Promise.all(ten());
    // Recognised by its content, because a response may come in several chunks.
    proxy.loseAnswers((chunk) => chunk.includes('COMMIT\0'));
    const settled = await Promise.allSettled(ten());
    proxy.loseAnswers(undefined);
    expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await times()).toEqual(Array(10).fill(2));
  });
});
