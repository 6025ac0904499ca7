import type { Connection } from 'mysql2/promise';
import { Retryable } from '../errors.js';

/**
 * What every connection sets, so that no default of the server, of `init_connect` or of a proxy decides what a statement means or how
 * long it may take. Read-only is not here on purpose: operators fence a server with it, so it is waited out.
 */
const settings: Record<string, string | number> = {
  // With another mode, quotes, backslashes and empty texts mean something else.
  sql_mode: 'STRICT_ALL_TABLES',
  time_zone: '+00:00',
  autocommit: 1,
  // A limit would silently cut a list of members or connections.
  sql_select_limit: '18446744073709551615',
  sql_auto_is_null: 0,
  sql_safe_updates: 0,
  group_concat_max_len: 1_048_576,
  lock_wait_timeout: 4,
  // The connection that stands by is idle for days. This is the longest time that every platform accepts.
  wait_timeout: 2_147_483,
};

/** The same for MariaDB, by its own names. Without NO_AUTO_CREATE_USER it creates a missing account that a grant names. */
const settingsOfMariadb: Record<string, string | number> = {
  ...settings,
  sql_mode: 'STRICT_ALL_TABLES,NO_AUTO_CREATE_USER',
  // The connector limits its statements itself.
  max_statement_time: 0,
  idle_transaction_timeout: 0,
};

/** The same for a node of a Galera cluster: every statement waits until the node has applied what the others committed before it. */
const settingsOfGalera: Record<string, string | number> = { wsrep_sync_wait: 15 };

/** The character set and collation of all that is sent and returned, set by `set names`. */
const characters = {
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_results: 'utf8mb4',
  collation_connection: 'utf8mb4_bin',
};

const prepared = new WeakSet<object>();

/** Sends statements over a connection. */
interface Sender {
  rows<T>(query: string): Promise<T[]>;
  run(statement: string): Promise<void>;
}

/**
 * Sets and then checks the settings of a connection, once. Throws `Retryable` with the names of the settings that are not in force,
 * as behind a proxy that drops them.
 */
export async function prepareSession(connection: Connection, sql: Sender): Promise<void> {
  // A pool wraps its connection anew each time that it gives it out.
  const { connection: raw } = connection as Connection & { connection: object };
  if (prepared.has(raw)) return;
  // Without a limit first, because a limit could cut even this.
  await sql.run('set session sql_select_limit = 18446744073709551615');
  const [server] = await sql.rows<{ maria: number }>("select version() like '%MariaDB%' as maria");
  const maria = Number(server?.maria) === 1;
  const galera = maria && (await isGalera(sql));
  const asked = { ...(maria ? settingsOfMariadb : settings), ...(galera ? settingsOfGalera : {}) };
  await sql.run("set names 'utf8mb4' collate 'utf8mb4_bin'");
  await sql.run(
    `set session ${Object.entries(asked)
      .map(([name, value]) => `${name} = ${literal(value)}`)
      .join(', ')}`,
  );
  await sql.run('set session transaction isolation level read committed');
  const needed = Object.entries({ ...asked, ...characters });
  const columns = needed.map(([name]) => `cast(@@session.${name} as char) as ${name}`);
  const [found] = await sql.rows<Record<string, string>>(`select ${columns.join(', ')}`);
  const missing = needed.filter(([name, value]) => !isSame(found?.[name], value)).map(([name]) => name);
  if (missing.length > 0) {
    throw new Retryable(
      `The database ignores the settings ${missing.join(' and ')}, as a proxy does: let the connector reach the server directly (docs/connectors/mysql.md)`,
    );
  }
  prepared.add(raw);
}

/** Returns whether the server is a node of a Galera cluster. */
async function isGalera(sql: Sender): Promise<boolean> {
  const rows = await sql.rows("show global variables where variable_name = 'wsrep_on' and value in ('ON', '1')");
  return rows.length > 0;
}

/** How the server writes a setting that is on or off, as a text. */
const switches: Record<string, number> = { ON: 1, OFF: 0 };

function literal(value: string | number): string {
  return typeof value === 'number' || /^\d+$/.test(value) ? String(value) : `'${value}'`;
}

/** Returns whether a value is the one that was set. The server sorts the words of a list, and adds decimals to numbers. */
function isSame(found: string | undefined, needed: string | number): boolean {
  if (found === undefined) return false;
  if (typeof needed === 'number') return (switches[found] ?? Number(found)) === needed;
  const words = (text: string) => text.split(',').sort().join();
  return words(found) === words(needed);
}
