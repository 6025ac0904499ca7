import { type Counters, positionOf } from '../counters.js';
import type { Sighting, Trust } from '../history.js';
import { readTarget } from './accounts.js';
import type { Database, Statements } from './database.js';

/** Numbers of the errors for a table that does not exist, and for a right that is missing. */
const withoutMark = [1142, 1143, 1146];

const asked = ['read_only', 'gtid_current_pos', 'wsrep_sync_wait', 'hostname', 'port', 'server_id', 'datadir'];

/**
 * Reads the sighting of a server. It is read-only as a replica is, and as a server that its operators fence; the setting itself is read,
 * because a user with READ_ONLY ADMIN gets no error. The position is that of its GTIDs: nothing without a binary log, and on MySQL.
 */
export async function readSighting(sql: Statements): Promise<Sighting> {
  const found = await readSettings(
    sql,
    `show variables where variable_name in (${asked.map((name) => `'${name}'`).join()})`,
  );
  const [own, ...others] = await readMarks(sql);
  return {
    target: await readTarget(sql),
    unsettling: await findUnsettling(sql, found),
    instance: ['hostname', 'port', 'server_id', 'datadir'].map((name) => found.get(name)).join(' '),
    position: positionOf(countersOf(found.get('gtid_current_pos') ?? '')),
    mark: own ?? null,
    otherMarks: others.flatMap((mark) => mark ?? []),
  };
}

/** Returns the number of the latest transaction in each domain of GTIDs: `<domain>-<server>-<number>`, separated by commas. */
export function countersOf(position: string): Counters {
  return Object.fromEntries(
    [...position.matchAll(/(\d+)-\d+-(\d+)/g)].map(([, domain = '', count = '']) => [domain, count]),
  );
}

async function findUnsettling(sql: Statements, found: ReadonlyMap<string, string>): Promise<string | null> {
  if (!['0', 'OFF'].includes(found.get('read_only') ?? '')) return 'is read-only, as a replica is';
  // Only connections to a node of a Galera cluster set this.
  if ((found.get('wsrep_sync_wait') ?? '0') === '0') return null;
  const names = "'wsrep_local_state', 'wsrep_cluster_status'";
  const status = await readSettings(sql, `show global status where variable_name in (${names})`);
  const isSynced = status.get('wsrep_local_state') === '4' && status.get('wsrep_cluster_status') === 'Primary';
  return isSynced ? null : 'is not synced with its Galera cluster';
}

async function readSettings(sql: Statements, query: string): Promise<Map<string, string>> {
  const rows = await sql.rows<{ Variable_name: string; Value: string }>(query);
  return new Map(rows.map(({ Variable_name: name, Value: value }) => [name.toLowerCase(), value]));
}

/** Returns the mark of this account, or null, and then those of other accounts. An older setup has no table for them. */
async function readMarks(sql: Statements): Promise<(string | null)[]> {
  const rows = await sql
    .rows<{ mark: string; own: number }>('select mark, account = current_user() as own from mark')
    .catch(without([]));
  const marks = (own: number) => rows.flatMap((row) => (Number(row.own) === own ? [row.mark] : []));
  return [marks(1)[0] ?? null, ...marks(0)];
}

/** Writes the mark. Returns whether the account may. */
export function writeMark(sql: Statements, mark: string): Promise<boolean> {
  return sql
    .rows('insert into mark (account, mark) values (current_user(), ?) on duplicate key update mark = ?', [mark, mark])
    .then(() => true)
    .catch(without(false));
}

function without<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (withoutMark.includes((error as { errno?: number }).errno ?? 0)) return value;
    throw error;
  };
}

/** Returns the database whose every use asks `trust` before its work. */
export function trustingDatabase(database: Database, trust: Trust): Database {
  return {
    ...database,
    use: (signal, work) =>
      database.use(signal, async (sql) => {
        await trust(() => readSighting(sql));
        return work(sql);
      }),
  };
}
