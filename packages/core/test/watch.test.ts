import type { ExecutionEvent } from '@belay/contract/executions';
import { type ActorContext, cancelExecution, openChanges, watchExecution } from '@belay/core';
import { openDatabase } from '@belay/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, openCast, type Person, request } from './support/stories.js';

/** A pause that ends only by the signal: a watcher with it never polls. */
const never: ActorContext['delay'] = (_milliseconds, signal) =>
  new Promise((_resolve, reject) =>
    signal?.addEventListener('abort', () => reject(new Error('ended')), { once: true }),
  );
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Watches and keeps the events; `until` resolves when enough have arrived, and fails after half a minute. */
function follow(person: ActorContext, id: string, after?: number) {
  const stop = new AbortController();
  const events: ExecutionEvent[] = [];
  let tell = () => {};
  const done = (async () => {
    for await (const event of watchExecution(person, { id, after, signal: stop.signal })) {
      events.push(event);
      tell();
    }
  })();
  return {
    events,
    done,
    stop: () => stop.abort(),
    types: () => events.map(({ event_type }) => event_type),
    until: (enough: (events: ExecutionEvent[]) => boolean) =>
      new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`Only ${events.map(({ event_type }) => event_type)}`)), 30_000);
        tell = () => {
          if (!enough(events)) return;
          clearTimeout(late);
          resolve();
        };
        tell();
      }),
  };
}

const has = (type: string) => (events: ExecutionEvent[]) => events.some(({ event_type }) => event_type === type);

describe('watching an execution', () => {
  let cast: Cast;
  let counted: { statements: number; person(of: Person): Person; close(): Promise<void> };
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({ pause: [{ wait: { wait: { minutes: 5 } } }] }) });
    const { database } = cast.house;
    const changes = openChanges({ databaseUrl: database.url, log: quiet, delay: cast.house.ctx.delay });
    const reading = openDatabase(database.url, { max: 4, onStatement: () => void (counted.statements += 1) });
    counted = {
      statements: 0,
      // Reads on separate connections, so that nothing else is counted, and only after a notification.
      person: (of) => ({ ...of, db: reading.db, changes, delay: never }),
      async close() {
        await changes.close();
        await reading.close();
      },
    };
  });
  afterEach(async () => {
    await counted.close();
    await cast[Symbol.asyncDispose]();
  });

  it('costs the database no more for 300 who watch than for one', async () => {
    const { house, ada } = cast;
    const cost = async (watchers: number) => {
      const id = await ask(house, ada, { workflow: 'pause' });
      const person = counted.person(ada);
      const watching = Array.from({ length: watchers }, () => follow(person, id));
      await Promise.all(watching.map(({ until }) => until(has('elevation.requested'))));
      const before = counted.statements;
      await cancelExecution(ada, { id });
      await house.work();
      await Promise.all(watching.map(({ done }) => done));
      const [first] = watching;
      expect(first?.types()).toContain('execution.cancel_requested');
      for (const { types } of watching) expect(types()).toEqual(first?.types());
      return counted.statements - before;
    };
    const one = await cost(1);
    const many = await cost(300);
    expect(one).toBeGreaterThan(0);
    expect(many).toBeLessThanOrEqual(one + 6);
  });

  it('costs the database a few statements for 300 who each watch another, while nothing happens', async () => {
    const { house, ada } = cast;
    const ids: string[] = [];
    for (let index = 0; index < 15; index += 1) ids.push(await ask(house, ada, { workflow: 'pause' }));
    await house.database.sql`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state)
      select gen_random_uuid(), workflow, definition_digest, catalog_version, owner_id, input, status, state
      from executions, generate_series(1, 285) where id = ${ids[0] ?? ''}`;
    const all = await house.database.sql`select id from executions`;
    expect(all.length).toBe(300);
    const waits: (() => void)[] = [];
    // All watchers wait until the test ends their pauses.
    const delay: ActorContext['delay'] = (milliseconds, signal) =>
      milliseconds === 200
        ? house.ctx.delay(milliseconds)
        : new Promise((resolve, reject) => {
            waits.push(resolve);
            signal?.addEventListener('abort', () => reject(new Error('ended')), { once: true });
          });
    const person = { ...counted.person(ada), delay };
    const watching = all.map(({ id }) => follow(person, id as string));
    const polled = async () => {
      await expect.poll(() => waits.length, { timeout: 30_000 }).toBe(300);
      const before = counted.statements;
      for (const go of waits.splice(0)) go();
      await expect.poll(() => waits.length, { timeout: 30_000 }).toBe(300);
      return counted.statements - before;
    };
    // The first read has nothing to compare with; the second finds nothing new.
    await polled();
    expect(await polled()).toBeLessThanOrEqual(4);
    await house.database.sql`
      insert into ledger (type, level, message, actor, execution_id) values ('note', 'info', 'x', '{}', ${ids[7] ?? ''})`;
    expect(await polled()).toBeLessThanOrEqual(8);
    const noted = watching.filter(({ types }) => types().includes('note'));
    expect(noted).toHaveLength(1);
    for (const { stop } of watching) stop();
    await Promise.all(watching.map(({ done }) => done));
  });

  it('hears of what happens by a notification alone', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'pause' });
    const watching = follow(counted.person(ada), id);
    await watching.until(has('elevation.requested'));
    await cancelExecution(ada, { id });
    await watching.until(has('execution.cancel_requested'));
    watching.stop();
    await watching.done;
  });

  it('notices by looking what no notification told', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'pause' });
    const deaf = { ...ada, changes: undefined, timing: { ...house.ctx.timing, watchPoll: 300 } };
    const watching = follow(deaf, id);
    await watching.until(has('elevation.requested'));
    await cancelExecution(ada, { id });
    await house.work();
    await watching.done;
    expect(watching.types()).toContain('execution.cancel_requested');
  });

  it('hears again after the connection that listens was cut', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'pause' });
    const watching = follow(counted.person(ada), id);
    await watching.until(has('elevation.requested'));
    const listeners = () =>
      house.database
        .sql`select pid from pg_stat_activity where application_name = 'belay listener' and datname = current_database()`;
    const [cut] = await listeners();
    await house.database.sql`select pg_terminate_backend(${cut?.pid ?? 0})`;
    await expect
      .poll(async () => (await listeners()).filter(({ pid }) => pid !== cut?.pid).length, { timeout: 30_000 })
      .toBe(1);
    await cancelExecution(ada, { id });
    await watching.until(has('execution.cancel_requested'));
    watching.stop();
    await watching.done;
  });

  it('goes on after any event, also one that the reader does not keep any more, without a gap or a repetition', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'pause' });
    const write = (from: number, to: number) => house.database.sql`
      insert into ledger (type, level, message, actor, execution_id)
      select 'note.' || n, 'info', 'a note', '{}', ${id} from generate_series(${from}::int, ${to}::int) n`;
    await write(1, 1_700);
    const all = follow(counted.person(ada), id);
    await all.until(has('note.1700'));
    expect(all.types().filter((type) => type.startsWith('note.'))).toEqual(
      Array.from({ length: 1_700 }, (_, index) => `note.${index + 1}`),
    );
    const tenth = all.events.find(({ event_type }) => event_type === 'note.10');
    const resumed = follow(counted.person(ada), id, tenth?.seq);
    await resumed.until(has('note.1700'));
    expect(resumed.events[0]?.event_type).toBe('note.11');
    // More events at once than a reader keeps.
    await write(1_701, 2_900);
    await cancelExecution(ada, { id });
    await house.work();
    await Promise.all([all.done, resumed.done]);
    for (const { events } of [all, resumed]) {
      const seqs = events.map(({ seq }) => seq);
      expect(new Set(seqs).size).toBe(seqs.length);
      expect(events.filter(({ event_type }) => event_type.startsWith('note.')).at(-1)?.event_type).toBe('note.2900');
    }
    expect(all.events.length - resumed.events.length).toBe(all.events.indexOf(tenth as ExecutionEvent) + 1);
  });

  it('delivers an event that was committed late, under a lower number', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'pause' });
    const watching = follow(counted.person(ada), id);
    await watching.until(has('elevation.requested'));
    const late = (type: string) => house.database.sql`
      insert into ledger (type, level, message, actor, execution_id) values (${type}, 'info', 'a note', '{}', ${id})`;
    await house.database.sql.begin(async (tx) => {
      await tx`insert into ledger (type, level, message, actor, execution_id) values ('note.low', 'info', 'x', '{}', ${id})`;
      await late('note.high');
      await tx`select pg_notify('belay_ledger', ${id})`;
      await house.database.sql`select pg_notify('belay_ledger', ${id})`;
      await watching.until(has('note.high'));
    });
    await watching.until(has('note.low'));
    watching.stop();
    await watching.done;
  });

  it('notifies of no execution that is not watched', async () => {
    const { house, ada } = cast;
    const heard: string[] = [];
    const { unlisten } = await house.database.sql.listen('belay_ledger', (id) => void heard.push(id));
    await ask(house, ada, { workflow: 'pause' });
    const watched = await ask(house, ada, { workflow: 'pause' });
    const watching = follow(counted.person(ada), watched);
    await watching.until(has('elevation.requested'));
    await request(ada, { workflow: 'pause' });
    await cancelExecution(ada, { id: watched });
    await expect.poll(() => heard.length).toBeGreaterThan(0);
    expect(new Set(heard)).toEqual(new Set([watched]));
    await unlisten();
    watching.stop();
    await watching.done;
  });
});
