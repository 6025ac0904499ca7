import { randomBytes } from 'node:crypto';
import { type DatabaseClient, openDatabase } from '@belay/db';
import postgres from 'postgres';
import { findTemplate, serverUrl, testDatabases, urlOf } from './template.js';

/** A database with its clients. Tests use them one after another, because opening connections takes longer than most tests. */
interface Pooled {
  name: string;
  url: string;
  max: number;
  client: DatabaseClient;
  sql: postgres.Sql;
  /** The connection that empties the database. Tests do not use it. */
  keeper: postgres.Sql;
  /** Whether a test may have changed a setting of the connections of `sql`. */
  changed: boolean;
}

interface Borrowed {
  url: string;
  db: DatabaseClient['db'];
  sql: postgres.Sql;
  waited: DatabaseClient['waited'];
  close: DatabaseClient['close'];
  giveBack(): Promise<void>;
}

/** The application name that tells the pool's own connections from those that a test opened. */
const ownName = 'belay test';
const defaultMax = 10;
/** How many databases a process keeps with their connections; a test rarely has two at once. */
const kept = 2;
/** How long the clients of a test may take to disconnect, in milliseconds, before its database is dropped. */
const patience = 1_000;
/** Matches a statement that may change a setting of its connection: too many rather than too few. */
const maySet = /(^|;|\$\$)\s*(set|reset|discard|do|call)\b|set_config/i;

const idle: Pooled[] = [];
let admin: { server: string; sql: postgres.Sql } | undefined;

/** Returns an empty database for one test. Its `db` and `sql` throw once it is given back. */
export async function borrowDatabase(options: { max?: number; fresh?: boolean }): Promise<Borrowed> {
  const max = options.max ?? defaultMax;
  const reusable = options.fresh !== true && max === defaultMax;
  const pooled = (reusable && takeIdle()) || (await make(max));
  let ended = false;
  let spoiled = false;
  const over = () => ended;
  return {
    url: pooled.url,
    db: until(over, pooled.client.db),
    sql: until(over, pooled.sql, {
      called: (text) => {
        pooled.changed ||= maySet.test(text);
      },
      read: (property) => {
        spoiled ||= property === 'end' || property === 'reserve';
        // The statements of a transaction do not pass through this proxy.
        pooled.changed ||= property === 'begin' || property === 'file';
      },
    }),
    waited: pooled.client.waited,
    close(timeout) {
      spoiled = true;
      return pooled.client.close(timeout);
    },
    async giveBack() {
      if (ended) return;
      ended = true;
      const good = reusable && !spoiled && idle.length < kept && (await empty(pooled).catch(() => false));
      if (good) idle.push(pooled);
      else await drop(pooled);
    },
  };
}

function takeIdle(): Pooled | undefined {
  const server = serverUrl();
  const found = idle.findLastIndex(({ url }) => new URL(url).host === new URL(server).host);
  return found < 0 ? undefined : idle.splice(found, 1)[0];
}

async function make(max: number): Promise<Pooled> {
  const server = findAdmin();
  const template = await findTemplate(server);
  const name = `${testDatabases()}${randomBytes(6).toString('hex')}`;
  // Copying the files takes half the time of logging each of their pages.
  await server.unsafe(`create database ${name} template ${template} strategy file_copy`);
  const url = urlOf(name);
  return {
    name,
    url,
    max,
    // A long limit, because a busy machine is no outage. Tests of silence open their own clients, with the limits of a server.
    client: openDatabase(url, { max, statementMilliseconds: 60_000, applicationName: ownName }),
    sql: postgres(url, { max: 2, onnotice: () => {}, connection: { application_name: ownName } }),
    keeper: postgres(url, { max: 1, onnotice: () => {}, connection: { session_replication_role: 'replica' } }),
    changed: false,
  };
}

/** Empties the database when no other client and no statement uses it. Returns false when it cannot be used again. */
async function empty(pooled: Pooled): Promise<boolean> {
  const { keeper, sql } = pooled;
  const deadline = performance.now() + patience;
  for (;;) {
    const [row] = await keeper`
      select case when not exists (
        select from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
            and (state <> 'idle' or application_name <> ${ownName})
      ) then not exists (
        select from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())
      ) and testkit.empty() end as good`;
    if (row?.good === false) return false;
    if (row?.good === true) break;
    if (performance.now() > deadline) return false;
  }
  // One statement for each of the two connections.
  if (pooled.changed) await Promise.all([sql`reset all`, sql`reset all`]);
  pooled.changed = false;
  return true;
}

async function drop({ client, sql, keeper, name }: Pooled): Promise<void> {
  await Promise.all([client.close(patience), sql.end({ timeout: 1 }), keeper.end({ timeout: 1 })]);
  await findAdmin().unsafe(`drop database if exists ${name} with (force)`);
}

/** Returns the one connection of this process that creates and drops databases. */
function findAdmin(): postgres.Sql {
  const server = serverUrl();
  if (admin?.server !== server) admin = { server, sql: postgres(server, { max: 1, onnotice: () => {} }) };
  return admin.sql;
}

/**
 * Returns a proxy that throws like a closed client once the test is over, so that a statement which a test has left running
 * cannot write into the next test's database. `uses` is called with the text of each statement and with each property read.
 */
function until<T extends object>(
  isOver: () => boolean,
  target: T,
  uses?: { called(text: string): void; read(property: string | symbol): void },
): T {
  const check = () => {
    if (isOver())
      throw Object.assign(new Error('write CONNECTION_ENDED test'), {
        code: 'CONNECTION_ENDED',
        query: '',
        parameters: [],
      });
  };
  const call = (inner: unknown, that: unknown, given: unknown[]): unknown => {
    uses?.called(String(given[0]));
    return Reflect.apply(inner as never, that, given);
  };
  return new Proxy(target, {
    apply(inner, that, given) {
      check();
      return call(inner, that, given);
    },
    get(inner, property) {
      check();
      uses?.read(property);
      const value: unknown = Reflect.get(inner, property);
      return property === 'unsafe' && uses ? (...given: unknown[]) => call(value, inner, given) : value;
    },
  });
}
