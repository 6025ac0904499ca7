import { Retryable, Terminal } from '../errors.js';
import type { Holders } from './borrowers.js';
import { readBorrowers } from './borrowers.js';
import { type Database, pause, type Statements } from './database.js';
import { isForbidden } from './faults.js';
import { readSighting } from './history.js';

/** How long the terminated sessions may take to end, in milliseconds. */
const endingMilliseconds = 8_000;
/** How long transactions of other logins, most of them harmless, may take to end normally, in milliseconds. */
const leaveMilliseconds = 2_000;

export interface Ended {
  count: number;
  /** A time of the server: every such session that began before it has ended. */
  at: string;
}

/**
 * Ends the sessions, in all databases of the server, that can use the role: a session that ran `set role` or has an
 * open cursor keeps its access after the revocation. Returns how many sessions it ended, and a time of the server.
 * Sessions that start afterwards have no access, so they are not waited for. Throws `Retryable` when a session that was
 * found does not end in time, and `Terminal` when a session may not be ended.
 */
export async function endSessions(database: Database, holders: Holders, signal: AbortSignal): Promise<Ended> {
  const { found, at } = await database.read(signal, async (sql) => {
    const now = await readServerTime(sql);
    return { found: await terminateAll(sql, await readSessions(sql, holders)), at: now };
  });
  await untilEnded(database, found, signal);
  return { count: found.length, at };
}

/**
 * Ends the sessions of other logins in whose transactions objects of the holder may continue to read, and returns how
 * many sessions it ended. Waits a short time for the transactions to end normally. To be called after the revocation,
 * with a later time of the server as `at`. Throws as `endSessions` does.
 */
export async function endBorrowers(
  database: Database,
  holders: Holders,
  at: string,
  signal: AbortSignal,
): Promise<number> {
  const read = (sql: Statements) => readBorrowers(sql, holders, at);
  for (let waited = 0; waited < leaveMilliseconds; waited += 100) {
    if ((await database.read(signal, read)).length === 0) return 0;
    await pause(100, signal);
  }
  const found = await database.read(signal, async (sql) => terminateAll(sql, await read(sql)));
  await untilEnded(database, found, signal);
  return found.length;
}

async function untilEnded(database: Database, pids: number[], signal: AbortSignal): Promise<void> {
  let left = pids;
  let waited = 0;
  for (let wait = 5; left.length > 0; wait = Math.min(2 * wait, 200)) {
    waited += wait;
    if (waited > endingMilliseconds) throw new Retryable("The identity's open sessions have not ended yet");
    await pause(wait, signal);
    const ids = left.join(',');
    left = await database.read(signal, async (sql) => {
      const rows = await sql<{ pid: number }[]>`
        select s.pid from pg_catalog.pg_stat_get_activity(null) s
        where s.pid = any (pg_catalog.string_to_array(${ids}, ',')::int[])`;
      return rows.map(({ pid }) => pid);
    });
  }
}

/** Takes the locks that ending sessions needs, and keeps them as long as its transaction lasts. */
export async function warmUp(sql: Statements): Promise<void> {
  const none = { identity: 0, role: 0, since: null };
  await readSessions(sql, none);
  await readBorrowers(sql, none, await readServerTime(sql));
  await readSighting(sql);
}

async function readServerTime(sql: Statements): Promise<string> {
  const [row] = await sql<[{ now: string }]>`select pg_catalog.clock_timestamp()::text as now`;
  return row.now;
}

/** Ends as many sessions as it may and returns them; throws `Terminal` when one may not be ended. */
async function terminateAll(sql: Statements, sessions: number[]): Promise<number[]> {
  if (sessions.length === 0) return sessions;
  try {
    await sql.savepoint((all) => terminate(all, sessions));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    // A session that may not be ended must not prevent the end of the others.
    let refused: unknown;
    for (const pid of sessions) {
      await sql
        .savepoint((one) => terminate(one, [pid]))
        .catch((fault: unknown) => {
          if (!isForbidden(fault)) throw fault;
          refused = fault;
        });
    }
    const message = "The connector's database user cannot terminate sessions: make it a member of pg_signal_backend";
    if (refused) throw new Terminal(message, { cause: refused });
  }
  return sessions;
}

async function terminate(sql: Statements, pids: number[]): Promise<void> {
  await sql`
    select pg_catalog.pg_terminate_backend(pid::int)
    from pg_catalog.string_to_table(${pids.join(',')}, ',') as pid`;
}

/**
 * Returns the sessions of the identity and of the logins that can act as it. They are found by oid, so that neither a
 * rename nor a dropped login hides one. A login can act as the identity when it is a member of it, directly or through
 * others, and may use or become it (before version 16 every member may). Logins that are superusers or hold the role
 * in another way, and the connector's own sessions, are left out.
 */
async function readSessions(sql: Statements, { identity, role, since }: Holders): Promise<number[]> {
  // Without this, a transaction always sees the list of sessions that it read first.
  await sql`select pg_catalog.pg_stat_clear_snapshot()`;
  const rows = await sql<{ pid: number }[]>`
    with recursive person (id) as (
      select ${identity}::int8::oid
      union
      select m.member
      from pg_catalog.pg_auth_members m join person p on m.roleid = p.id
      cross join lateral (select pg_catalog.to_jsonb(m) as options) o
      where coalesce((o.options->>'inherit_option')::bool, true) or coalesce((o.options->>'set_option')::bool, true)
    ),
    path (id) as (
      select p.id from person p left join pg_catalog.pg_roles r on r.oid = p.id
      where p.id = ${identity}::int8::oid
         or (not r.rolsuper and not pg_catalog.pg_has_role(r.oid, ${role}::int8::oid, 'USAGE'))
    )
    select s.pid
    from pg_catalog.pg_stat_get_activity(null) s
    where s.usesysid in (select id from path)
      and s.usesysid not in (select oid from pg_catalog.pg_roles where rolname in (current_user, session_user))
      -- The start is null for a user who may not read the statistics of others; such a session is ended.
      and (${since}::text is null or s.backend_start is null or s.backend_start <= (${since}::text)::timestamptz)`;
  return rows.map(({ pid }) => pid);
}
