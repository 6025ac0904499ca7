import type { Context } from '@belay/core';
import type { ProviderClient } from '@belay/providers';
import type { House } from '@belay/testkit/house';

export interface Gate {
  /** A worker whose call stops at the gate, like a paused worker. */
  ctx: Context;
  /** Resolves when the call has stopped at the gate. */
  reached: Promise<void>;
  open(): void;
}

type Paused = 'holds' | 'ensurePresent' | 'ensureAbsent' | 'deliver';

/**
 * Returns a second worker of the house whose first call of `operation` (after `skip` others) waits at a gate. With `after`, the
 * call has had its effect, and its response waits.
 */
export function gateOf(house: House, operation: Paused, when: 'before' | 'after' = 'before', skip = 0): Gate {
  const { reach, reached, open, opened } = latch();
  let passed = false;
  let calls = 0;
  const pausing = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(inner, property, receiver) {
        const value: unknown = Reflect.get(inner, property, receiver);
        if (property !== operation || typeof value !== 'function' || passed) return value;
        return async (...given: unknown[]) => {
          calls += 1;
          if (passed || calls <= skip) return value.apply(inner, given);
          passed = true;
          if (when === 'before') {
            reach();
            await opened;
            return value.apply(inner, given);
          }
          const answer: unknown = await value.apply(inner, given);
          reach();
          await opened;
          return answer;
        };
      },
    });
  // One client for each client of the house, because what is known of a system is stored with the client.
  const paused = new Map<unknown, ProviderClient>();
  const client = (provider: string) => {
    const ready = house.catalog.client(provider);
    if (!ready?.authorizer || !ready.notifications) return ready;
    const known = paused.get(ready) ?? {
      ...ready,
      authorizer: pausing(ready.authorizer),
      notifications: pausing(ready.notifications),
    };
    paused.set(ready, known);
    return known;
  };
  return { ctx: { ...house.ctx, catalog: { current: () => house.catalog.current(), client } }, reached, open };
}

/**
 * Returns a second process of the house whose next transaction waits at a gate with its locks held, before it commits.
 */
export function heldBeforeCommit<T extends Context>(ctx: T): { ctx: T; reached: Promise<void>; open(): void } {
  const { reach, reached, open, opened } = latch();
  let waited = false;
  const transaction = (work: (tx: never) => Promise<unknown>) =>
    ctx.db.transaction(async (tx) => {
      const result = await work(tx as never);
      if (waited) return result;
      waited = true;
      reach();
      await opened;
      return result;
    });
  const db = new Proxy(ctx.db, {
    get: (target, property) => (property === 'transaction' ? transaction : Reflect.get(target, property)),
  });
  return { ctx: { ...ctx, db }, reached, open };
}

/** Delays all commits that change rows of a table from now on, with their locks, until `release`. */
export async function stopCommitsOf(
  house: House,
  table: string,
  change: 'insert' | 'update',
): Promise<{ release(): Promise<void> }> {
  const { sql } = house.database;
  const key = 7235311;
  await sql.unsafe(`
    create function stand_still() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(${key});
      return null; end $$;
    create constraint trigger stands_still after ${change} on ${table} deferrable initially deferred
      for each row execute function stand_still()`);
  const holder = await sql.reserve();
  await holder`select pg_advisory_lock(${key})`;
  return {
    async release() {
      await holder`select pg_advisory_unlock(${key})`;
      holder.release();
    },
  };
}

/** Resolves when a connection to the database of the house, or `many` of them, wait for a lock. */
export async function someoneWaits(house: House, many = 1): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    const [row] = await house.database.sql`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (row?.waiting >= many) return;
  }
  throw new Error('No connection waited for a lock');
}

/**
 * Stops the statements of an application where they first read the clock: they have their snapshot, and have locked nothing. (The
 * function is volatile: the planner calls a stable one before there is a snapshot.)
 */
export async function stopClockOf(
  house: House,
  application: string,
): Promise<{ reached(): Promise<void>; release(): Promise<void> }> {
  const { sql } = house.database;
  const key = 7235310;
  await sql.unsafe(`
    create or replace function app_now() returns timestamptz language plpgsql volatile as $$ begin
      if current_setting('application_name') = '${application}' then perform pg_advisory_xact_lock_shared(${key}); end if;
      return (select at from public.test_clock); end $$`);
  const holder = await sql.reserve();
  await holder`select pg_advisory_lock(${key})`;
  return {
    reached: () => someoneWaits(house),
    async release() {
      await holder`select pg_advisory_unlock(${key})`;
      holder.release();
    },
  };
}

function latch() {
  let reach: () => void = () => {};
  let open: () => void = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { reach, reached, open, opened };
}
