import type { Sql } from 'postgres';
import { createClient } from './connect.js';

/** What processes do one at a time, or announce to each other. */
export type TurnName = 'migration' | 'presence' | 'demo_target' | 'demo_workers';

export interface Turn {
  /**
   * Returns whether another process waits for the exclusive turn. Throws when the turn was lost with its connection.
   */
  isWanted(): Promise<boolean>;
  /** Releases the turn. */
  release(): Promise<void>;
}

export interface TurnOptions {
  /** Whether to share the turn with other processes that share it; exclusive by default. */
  shared?: boolean;
  /** Aborts the wait, which then rejects. */
  signal?: AbortSignal;
}

/** SQLSTATEs: the table already exists, or another process created it or its type at the same moment. */
const made = ['42P07', '23505', '42710'];
const notAvailable = '55P03';
/**
 * How long one wait for the lock lasts, in milliseconds; the server responds then, so that a lost connection is
 * noticed.
 */
const lookMilliseconds = 5_000;

/**
 * Waits for a turn and holds it until it is released or the process ends. A turn is a lock on a table that only
 * Belay's own user may access: every user who may connect to the database could take and keep an advisory lock.
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

/** Takes an exclusive turn when no other process has it at this moment; returns undefined otherwise. */
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

/** Starts a transaction that holds the lock; returns false when others hold it for the whole wait. */
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

/**
 * Returns the mode of the lock: `exclusive` excludes both modes, `row share` only `exclusive`. Neither blocks readers.
 */
function modeOf({ shared }: TurnOptions): string {
  return shared ? 'row share' : 'exclusive';
}

/** Opens a separate connection, because the lock belongs to the transaction, and creates the table to lock. */
async function openTurn(url: string, name: TurnName): Promise<Sql> {
  const sql = createClient(url, {
    max: 1,
    silence: lookMilliseconds + 2_000,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { application_name: `belay-${name}` },
  });
  try {
    // The server's own limits would end a turn that is held for long. (transaction_timeout exists from version 17.)
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
      // The driver reconnects automatically, and the new connection holds no lock.
      const rows = await sql<{ mine: boolean; mode: string; granted: boolean }[]>`
        select pid = pg_backend_pid() as mine, mode, granted from pg_locks
        where locktype = 'relation' and relation = ${tableOf(name)}::regclass
          and database = (select oid from pg_database where datname = current_database())`;
      if (!rows.some(({ mine, granted }) => mine && granted))
        throw new Error(`The turn "${name}" was lost: its database connection was replaced`);
      return rows.some(({ mine, mode, granted }) => !mine && !granted && mode === 'ExclusiveLock');
    },
    async release() {
      // Ended explicitly, because a server notices the end of a connection only after some time.
      await sql`rollback`.catch(() => {});
      await sql.end({ timeout: 1 });
    },
  };
}
