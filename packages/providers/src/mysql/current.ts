import { Retryable } from '../errors.js';
import type { Position } from '../history.js';

interface Reader {
  rows<T>(query: string): Promise<T[]>;
}

/** Returns whether the server is a node of a Galera cluster. */
export async function isGalera(sql: Reader): Promise<boolean> {
  const rows = await sql.rows(
    "select 1 from information_schema.global_variables where variable_name = 'WSREP_ON' and variable_value in ('ON', '1')",
  );
  return rows.length > 0;
}

/** Returns the server's position in each domain of its GTIDs; nothing without a binary log, and on MySQL. */
export async function readPosition(sql: Reader): Promise<Position> {
  const [row] = await sql
    .rows<{ position: string | null }>('select @@global.gtid_current_pos as position')
    .catch((error: unknown) => {
      // The variable does not exist (MySQL).
      if ((error as { errno?: number }).errno === 1193) return [];
      throw error;
    });
  return Object.fromEntries(
    [...(row?.position ?? '').matchAll(/(\d+)-\d+-(\d+)/g)].map(([, domain = '', count = '']) => [domain, count]),
  );
}

/**
 * Throws `Retryable` while what the server returns may be outdated: it is read-only, as a replica is and a server that its operators
 * fence, or a node of a Galera cluster that is not synced with it. The setting itself is read, because a user with the right to
 * write on a read-only server gets no error.
 */
export async function requireCurrent(sql: Reader, galera: boolean): Promise<void> {
  const [server] = await sql.rows<{ state: string }>('select cast(@@global.read_only as char) as state');
  if (!['0', 'OFF'].includes(server?.state ?? '')) {
    throw new Retryable('The database is read-only, as a replica is: what it returns may be outdated');
  }
  if (!galera) return;
  const status = await sql.rows<{ Variable_name: string; Value: string }>(
    "show global status where variable_name in ('wsrep_local_state', 'wsrep_cluster_status')",
  );
  const found = new Map(status.map(({ Variable_name: name, Value: value }) => [name.toLowerCase(), value]));
  if (found.get('wsrep_local_state') !== '4' || found.get('wsrep_cluster_status') !== 'Primary') {
    throw new Retryable('The node is not synced with its Galera cluster: what it returns may be outdated');
  }
}
