import type { Sql } from 'postgres';
import { createClient } from './connect.js';

/** What processes take turns at, or tell each other that they are at. */
export type TurnName = 'migration' | 'presence' | 'demo_target' | 'demo_workers';

export interface Turn {
  /** Returns whether another process waits to have the turn alone. Throws when the turn was lost with its connection. */
  isWanted(): Promise<boolean>;
  /** Gives the turn back. */
  release(): Promise<void>;
}

export interface TurnOptions {
  /** Together with other processes that say so too; alone by default. */
  shared?: boolean;
  /** Ends the waiting, with an error. */
  signal?: AbortSignal;
}

/** Already there, or made by another process at the same moment. */
const made = ['42P07', '23505'];
const notAvailable = '55P03';
/** How long one wait for the lock lasts: the server answers then, so that a connection that is gone is noticed. */
const lookMilliseconds = 5_000;

/**
 * Waits for a turn and holds it until it is released or the process ends. A turn is a lock of a table that only Belay's
 * own user may touch: an advisory lock could be taken, and kept, by every user who may connect to the database.
 */
export async function takeTurn(url: string, name: TurnName, options: TurnOptions = {}): Promise<Turn> {
  const sql = await openTurn(url, name);
  const giveUp = () => void sql.end({ timeout: 0 });
  options.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    do options.signal?.throwIfAborted();
    while (!(await lock(sql, name, modeOf(options))));
    return hold(sql, name);
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', giveUp);
  }
}

/** Takes a turn alone when no other process has it at this moment; undefined when one does. */
export async function tryTurn(url: string, name: TurnName): Promise<Turn | undefined> {
  const sql = await openTurn(url, name);
  try {
    if (await lock(sql, name, modeOf({}), 'nowait')) return hold(sql, name);
    await sql.end({ timeout: 0 });
    return undefined;
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}

/** Begins a transaction that has the lock, or returns false when others have it for as long as the server waits. */
async function lock(sql: Sql, name: TurnName, mode: string, wait = ''): Promise<boolean> {
  await sql`begin`;
  try {
    await sql.unsafe(`lock table ${tableOf(name)} in ${mode} mode ${wait}`);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== notAvailable) throw error;
    await sql`rollback`;
    return false;
  }
}

function tableOf(name: TurnName): string {
  return `public.turn_${name}`;
}

/** The weakest modes that exclude each other: nothing that reads or vacuums the table is in their way. */
function modeOf({ shared }: TurnOptions): string {
  return shared ? 'row share' : 'exclusive';
}

/** A connection of its own, because the lock is the transaction's, with a table to lock. */
async function openTurn(url: string, name: TurnName): Promise<Sql> {
  const sql = createClient(url, {
    max: 1,
    silence: lookMilliseconds + 2_000,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { application_name: `belay-${name}` },
  });
  try {
    // A server's own limits would end a turn that is held for long. (transaction_timeout is there from 17 on.)
    await sql`
      select set_config(name, case name when 'lock_timeout' then ${String(lookMilliseconds)} else '0' end, false)
      from pg_settings where name in
        ('idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout', 'lock_timeout')`;
    await sql.unsafe(`create table if not exists ${tableOf(name)} ()`).catch((error: { code?: string }) => {
      if (!made.includes(error.code ?? '')) throw error;
    });
    return sql;
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}

function hold(sql: Sql, name: TurnName): Turn {
  return {
    async isWanted() {
      // The driver connects again by itself, and the new connection holds nothing.
      const rows = await sql<{ mine: boolean; mode: string; granted: boolean }[]>`
        select pid = pg_backend_pid() as mine, mode, granted from pg_locks
        where locktype = 'relation' and relation = ${tableOf(name)}::regclass
          and database = (select oid from pg_database where datname = current_database())`;
      if (!rows.some(({ mine, granted }) => mine && granted))
        throw new Error(`The turn "${name}" was lost: its database connection was replaced`);
      return rows.some(({ mine, mode, granted }) => !mine && !granted && mode === 'ExclusiveLock');
    },
    async release() {
      // Said, because a server notices the end of a connection only some time after it.
      await sql`rollback`.catch(() => {});
      await sql.end({ timeout: 1 });
    },
  };
}
