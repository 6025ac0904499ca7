import { untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import type { Subject } from './accounts.js';
import type { Database, Statements } from './database.js';
import { isUnknownSession } from './faults.js';
import { requireSight } from './setup.js';

/** How long killed sessions may take to disappear, in milliseconds. */
const endingMilliseconds = 8_000;

/** The users whose sessions are ended. */
export interface Holders {
  users: string[];
  /**
   * Whether sessions under a user name that no account has are ended too: the account was renamed after they began, or it has an
   * anonymous proxy user, as which people can sign in under any name (authentication by PAM).
   */
  withUnknown: boolean;
  /** Sessions with a higher number began after the role was gone; null for no bound. */
  newest: number | null;
}

/** Returns the user names under which the subject's sessions are listed: of its accounts, the pinned name, and their proxies. */
export async function readHolders(
  sql: Statements,
  { accounts, named }: Subject,
  newest: number | null,
): Promise<Holders> {
  const own = [...new Set([named.user, ...accounts.map(({ user }) => user)])];
  const proxies = await readProxies(sql, own);
  const isRenamed = accounts.some(({ user, host }) => user !== named.user || host !== named.host);
  return { users: [...own, ...proxies], withUnknown: isRenamed || proxies.includes(''), newest };
}

/**
 * Returns the users who may act as one of `users` by GRANT PROXY, which every account may grant for itself; '' stands
 * for all users. The server reads both names of a proxy as patterns: an account called r_ta can let another account act
 * as rita.
 */
export async function readProxies(sql: Statements, users: string[]): Promise<string[]> {
  const covered = users.map(() => 'or ? like p.Proxied_user').join(' ');
  const rows = await sql.rows<{ user: string }>(
    `select distinct coalesce(a.user, p.User) as user from mysql.proxies_priv p
     left join accounts a on a.user like p.User and not a.is_role
     where p.Proxied_user in (?) ${covered}`,
    [users, ...users],
  );
  return rows.map(({ user }) => user);
}

/**
 * Ends the sessions that could have the role set, because a session keeps the role after the revocation. Returns how many were
 * ended, and the highest session number of the server at the start: later sessions have no access and are not waited for. Throws
 * `Retryable` while a session that was found still exists.
 */
export async function endSessions(
  database: Database,
  holders: Holders,
  signal: AbortSignal,
): Promise<{ count: number; newest: number }> {
  const { newest } = await database.use(signal, async (sql) => {
    const [row] = await sql.rows<{ newest: number }>('select max(id) as newest from information_schema.processlist');
    return { newest: Number(row?.newest ?? 0) };
  });
  const bounded = { ...holders, newest: holders.newest === null ? newest : Math.min(holders.newest, newest) };
  const seen = new Set<number>();
  let waited = 0;
  for (let wait = 10; ; wait = Math.min(2 * wait, 200)) {
    const left = await database.use(signal, async (sql) => {
      await requireSight(sql);
      const ids = await readSessions(sql, bounded);
      for (const id of ids) await kill(sql, id);
      return ids;
    });
    if (left.length === 0) return { count: seen.size, newest };
    for (const id of left) seen.add(id);
    waited += wait;
    if (waited > endingMilliseconds) throw new Retryable("The account's open connections have not ended yet");
    await untilAborted(new Promise<void>((done) => setTimeout(done, wait)), signal);
  }
}

async function readSessions(sql: Statements, { users, withUnknown, newest }: Holders): Promise<number[]> {
  const rows = await sql.rows<{ id: number }>(
    `select id from information_schema.processlist
     where id <= ? and id <> connection_id() and (user in (?)
       or ? and user not in ('system user', 'event_scheduler', 'unauthenticated user')
         and user not in (select a.user from accounts a))`,
    [newest ?? 0, users, withUnknown ? 1 : 0],
  );
  return rows.map(({ id }) => Number(id));
}

async function kill(sql: Statements, id: number): Promise<void> {
  try {
    await sql.run(`kill connection ${id}`);
  } catch (error) {
    if (isUnknownSession(error)) return;
    if ((error as { errno?: number }).errno !== 1095) throw error;
    const message =
      "The connector's database user cannot end connections: grant it CONNECTION ADMIN (MySQL: CONNECTION_ADMIN)";
    throw new Terminal(message, { cause: error });
  }
}
