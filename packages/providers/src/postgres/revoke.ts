import { Retryable, Terminal } from '../errors.js';
import { quoteName } from './config.js';
import type { Database, Statements } from './database.js';
import { toPortError } from './faults.js';

/** Serialises the changes of one membership: two at once fail inside the server instead of waiting for each other. */
export async function lockMembership(sql: Statements, role: string, identity: string): Promise<void> {
  const key = JSON.stringify(['belay', role, identity]);
  await sql`select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(${key}, 0))`;
}

/**
 * Takes the membership away, whoever granted it: a grant that someone else added meanwhile is the same access, and
 * access has to be gone (R6). Takes away all it can, and answers the first refusal when there was one.
 */
export async function revokeMembership(
  sql: Statements,
  role: string,
  identity: string,
): Promise<Retryable | Terminal | undefined> {
  const grants = await sql<{ grantor: string | null; modern: boolean }[]>`
    select g.rolname as grantor, current_setting('server_version_num')::int >= 160000 as modern
    from pg_catalog.pg_auth_members m
    join pg_catalog.pg_roles r on r.oid = m.roleid
    join pg_catalog.pg_roles i on i.oid = m.member
    left join pg_catalog.pg_roles g on g.oid = m.grantor
    where r.rolname = ${role}::text and i.rolname = ${identity}::text`;
  let failure: Retryable | Terminal | undefined;
  for (const { grantor, modern } of grants) {
    // From 16 on every grantor's grant is a row of its own; before, there is one row and the grantor is only a note.
    const by = modern && grantor !== null ? ` granted by ${quoteName(grantor)}` : '';
    const statement = `revoke ${quoteName(role)} from ${quoteName(identity)}${by}`;
    try {
      await sql.savepoint((one) => one.unsafe(statement));
    } catch (error) {
      failure ??= toPortError(error);
    }
  }
  return failure;
}

/** How long one look at a session that is being ended may take. */
const endingMilliseconds = 2_000;

/**
 * Ends the live sessions of `identity` in the whole server and answers how many there were: one that has done
 * `set role`, or has a cursor open, keeps its access after the revocation. Throws `Retryable` while one is still there.
 */
export async function endSessions(database: Database, identity: string, signal: AbortSignal): Promise<number> {
  return database.transaction(signal, async (sql) => {
    const sessions = await readSessions(sql, identity);
    try {
      for (const pid of sessions) await sql`select pg_catalog.pg_terminate_backend(${pid})`;
      // All are signalled by now; this only waits for each.
      for (const pid of sessions) await sql`select pg_catalog.pg_terminate_backend(${pid}, ${endingMilliseconds})`;
    } catch (error) {
      if ((error as { code?: string }).code !== '42501') throw error;
      const message = "The connector's database user may not end sessions: it has to be a member of pg_signal_backend";
      throw new Terminal(message, { cause: error });
    }
    if (sessions.length > 0) {
      // A transaction goes on seeing the sessions that it saw first.
      await sql`select pg_catalog.pg_stat_clear_snapshot()`;
      const left = new Set(await readSessions(sql, identity));
      if (sessions.some((pid) => left.has(pid))) throw new Retryable("The identity's open sessions are still ending");
    }
    return sessions.length;
  });
}

async function readSessions(sql: Statements, identity: string): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_catalog.pg_stat_activity
    where usename = ${identity}::text and usename not in (current_user, session_user)`;
  return rows.map(({ pid }) => pid);
}
