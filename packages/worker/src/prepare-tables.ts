import { LATEST_SCHEMA_VERSION, MIGRATION_ADVISORY_LOCK_KEY, runMigrations } from 'bullmq';
import { Client, type ClientConfig } from 'pg';
import { prepareSession } from './postgres-client.js';

/** How long one attempt waits for a lock, in milliseconds: longer than the migration of another process takes. */
const lockMilliseconds = 5_000;
const attempts = 6;
/** How long one statement of the migration may take, in milliseconds. */
const statementMilliseconds = 60_000;

/** Sessions of others keep the migration of the queue's tables from its lock. The message names them. */
export class QueueTablesHeld extends Error {}

interface Holder {
  pid: number;
  login: string;
  program: string;
  /** Whether it is a session of Belay's own login. */
  own: boolean;
}

/**
 * Brings the tables of the queue to the version of BullMQ, on its own connection. A current schema takes no lock. Ends sessions of
 * other logins that hold the migration's lock. Throws `QueueTablesHeld` when that is not permitted, or the lock stays held for half
 * a minute.
 */
export async function prepareTables(address: ClientConfig): Promise<void> {
  const client = new Client({
    ...address,
    connectionTimeoutMillis: 10_000,
    // Sent when the connection opens, because a default could end its first statement.
    statement_timeout: statementMilliseconds,
    query_timeout: statementMilliseconds,
  });
  // pg reports a lost connection here as well; without a listener that ends the process.
  let lost: Error | undefined;
  client.on('error', (error) => {
    lost = error;
  });
  try {
    await client.connect();
    await prepareSession(client, {
      lock_timeout: lockMilliseconds,
      statement_timeout: statementMilliseconds,
      idle_in_transaction_session_timeout: statementMilliseconds,
    });
    if (!(await isCurrent(client))) await migrate(client);
  } catch (error) {
    throw lost !== undefined || isOfConnection(error)
      ? Object.assign(error as Error, { code: 'CONNECTION_CLOSED' })
      : error;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Returns whether pg reports a connection that was lost, or did not open in time: only then it throws plain errors, without a code. */
function isOfConnection(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && !('code' in error);
}

/** Returns whether the tables are those of this version, without a lock. */
async function isCurrent(client: Client): Promise<boolean> {
  const { rows: tables } = await client.query<{ exists: boolean }>(
    "select to_regclass('bullmq.migration') is not null as exists",
  );
  if (tables[0]?.exists !== true) return false;
  const { rows } = await client.query<{ version: number | null }>(
    'select max(version) as version from bullmq.migration',
  );
  return rows[0]?.version === LATEST_SCHEMA_VERSION;
}

async function migrate(client: Client): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await runMigrations(client);
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error;
      const holders = await findHolders(client);
      const left = await endOthers(client, holders);
      if (left.length > 0 || attempt === attempts)
        throw new QueueTablesHeld(describe(left.length > 0 ? left : holders));
    }
  }
}

/** Returns the sessions that hold the lock under which BullMQ migrates (`pg_advisory_xact_lock` of two integers). */
async function findHolders(client: Client): Promise<Holder[]> {
  const { rows } = await client.query<Holder>(
    `select l.pid, coalesce(a.usename, 'unknown') as login, coalesce(a.application_name, '') as program,
       coalesce(a.usename = current_user, false) as own
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid() and l.objsubid = 2
       and l.database = (select oid from pg_database where datname = current_database())
       and l.classid = $1::int8::oid and l.objid = (hashtext('bullmq')::int8 & 4294967295)::oid`,
    [MIGRATION_ADVISORY_LOCK_KEY],
  );
  return rows;
}

/** Ends the sessions of other logins, which no process of Belay has. Returns those that may not be ended. */
async function endOthers(client: Client, holders: readonly Holder[]): Promise<Holder[]> {
  const left: Holder[] = [];
  for (const holder of holders.filter(({ own }) => !own)) {
    try {
      await client.query('select pg_terminate_backend($1, 2000)', [holder.pid]);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === '42501')) throw error;
      left.push(holder);
    }
  }
  return left;
}

function describe(holders: readonly Holder[]): string {
  if (holders.length === 0)
    return 'other sessions hold the tables of the queue: end the transactions that wait or idle there';
  const named = holders.map(({ pid, login, program }) => `${pid} (login "${login}"${program ? `, "${program}"` : ''})`);
  const ends = holders.map(({ pid }) => `select pg_terminate_backend(${pid});`);
  return `the lock under which the tables of the queue are migrated is held by the session ${named.join(' and ')}; end it as an administrator: ${ends.join(' ')}`;
}
