import { Retryable, Terminal } from '../errors.js';
import { type Reason, selectBuilders } from './builders.js';
import type { Database } from './database.js';
import type { Facts } from './facts.js';
import type { Subject } from './pin.js';

/** The most databases that are checked; each needs a connection. */
const mostDatabases = 10;

/**
 * Returns why a member of the role could keep something in another database of the server, or null. Privileges are
 * stored in each database and can be read only there. Throws `Retryable` for a temporary error, and `Terminal` when a
 * database cannot be checked: in doubt the grant is rejected.
 */
export async function findReasonElsewhere(
  database: Database,
  facts: Pick<Facts, 'elsewhere'>,
  { role }: Subject,
  signal: AbortSignal,
): Promise<Reason | null> {
  if (facts.elsewhere.length > mostDatabases) {
    throw new Terminal('The database role has privileges in more databases of the server than the connector can check');
  }
  for (const name of facts.elsewhere) {
    const reason = await database
      .elsewhere(name, signal, async (sql) => {
        const [row] = await sql<[{ reason: Reason | null }]>`
          with recursive reach (id) as (
            select ${role.id}::int8::oid
            union
            select m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
          )
          select min(b.reason) as reason from (${selectBuilders(sql)}) b join reach using (id)`;
        return row.reason;
      })
      .catch((error: unknown) => {
        if (error instanceof Retryable) throw error;
        const message =
          'The database role has privileges in another database, to which the connector cannot connect to check them';
        throw new Terminal(message, { cause: error });
      });
    if (reason !== null) return reason;
  }
  return null;
}
