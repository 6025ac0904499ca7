import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startTemporaryPostgres } from '@belay/embedded-postgres';
import postgres from 'postgres';
import { postgresConnector } from '../../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement, type Seat } from '../../../src/testkit/index.js';

/** A login of the server with its connections. */
export interface Login {
  name: string;
  password: string;
  /** Returns a new connection as this login, by default to the database of the table. */
  connect(database?: string): postgres.Sql;
  /** Closes its connections. */
  close(): Promise<void>;
}

/** A holder's seat in PostgreSQL. */
export interface PostgresSeat extends Seat {
  admin: postgres.Sql;
  /** The database role that is granted; in the first database it may only read and insert into `report` and `log`. */
  role: string;
  holder: Login;
  /** Another login, without the role. */
  accomplice: Login;
  /** A second database of the server, where the role may read a table `report` too. */
  otherDatabase: string;
  server: HostileServer;
}

/** A separate PostgreSQL server, because its holders use up its connections and locks. */
export interface HostileServer {
  admin: postgres.Sql;
  authorizer: ByNames;
  url(login?: { name: string; password: string }, database?: string): string;
  login(options?: string): Promise<Login>;
  seat(): Promise<PostgresSeat>;
  /** Ends the idle connections of the connector, as a minute without calls does. */
  forgetIdle(): Promise<void>;
  close(): Promise<void>;
}

const table = `create table report as select 42 as answer; create table log (line text)`;

export async function openHostileServer(): Promise<HostileServer> {
  const server = await startTemporaryPostgres({
    log: () => {},
    randomBytes,
    delay: (milliseconds) => delay(milliseconds),
    // Holders open a thousand connections. With more than one round, checking their passwords would take a third of the time.
    settings: {
      max_connections: '30',
      max_prepared_transactions: '2',
      wal_level: 'logical',
      scram_iterations: '1',
      autovacuum: 'off',
      io_method: 'sync',
    },
  });
  const url = (login?: { name: string; password: string }, database = 'target') => {
    const made = new URL(server.url(database));
    if (login) {
      made.username = encodeURIComponent(login.name);
      made.password = encodeURIComponent(login.password);
    }
    return made.href;
  };
  const quiet = { onnotice: () => {}, fetch_types: false, idle_timeout: 0 };
  const root = postgres(server.url('postgres'), { ...quiet, max: 1 });
  await root.unsafe('create database target');
  await root.unsafe('create database other');
  await root.unsafe('grant create on database other to public');
  const admin = postgres(url(), { ...quiet, max: 2 });
  const other = postgres(url(undefined, 'other'), { ...quiet, max: 1 });
  await admin.unsafe(table);
  await other.unsafe(table);
  let count = 0;
  const login = async (options = ''): Promise<Login> => {
    const made = { name: `login_${count++}`, password: randomBytes(8).toString('hex') };
    const open = new Set<postgres.Sql>();
    await admin.unsafe(`create role ${made.name} login password '${made.password}' ${options}`);
    return {
      ...made,
      connect(database) {
        const sql = postgres(url(made, database), { ...quiet, max: 1, max_lifetime: null, connect_timeout: 5 });
        open.add(sql);
        return sql;
      },
      async close() {
        await Promise.all([...open].map((sql) => sql.end({ timeout: 0 }).catch(() => {})));
        open.clear();
      },
    };
  };
  const belay = await login('createrole');
  await admin.unsafe(`grant pg_signal_backend to ${belay.name}`);
  const client = postgresConnector.create(postgresConnector.config.parse({ url: url(belay), identity: 'email' }), {
    now: Date.now,
    log: () => {},
  });
  const { authorizer } = client;
  if (!authorizer) throw new Error('the connector has no authorizer');

  const made: HostileServer = {
    admin,
    authorizer: byNames(authorizer),
    url,
    login,
    async seat() {
      const role = `role_${count++}`;
      const [holder, accomplice] = [await login(), await login()];
      await admin.unsafe(`
        create role ${role};
        grant ${role} to ${belay.name} with admin option;
        grant select, insert on report, log to ${role};
        create schema own_${holder.name} authorization ${holder.name};
        create schema both_${holder.name};
        grant usage, create on schema both_${holder.name} to public`);
      await other.unsafe(`grant select on report to ${role}`);
      const entitlement: NamedEntitlement = { id: holder.name, identity: holder.name, access: { role } };
      return {
        admin,
        role,
        holder,
        accomplice,
        otherDatabase: 'other',
        server: made,
        entitlement,
        canUse: () => canRead(holder.connect()),
        async close() {
          await Promise.all([holder.close(), accomplice.close()]);
        },
      };
    },
    async forgetIdle() {
      await admin`
        select pg_terminate_backend(pid, 2000) from pg_stat_activity
        where usename = ${belay.name} and state = 'idle'`;
    },
    async close() {
      await client.close();
      await Promise.all([admin, other, root].map((sql) => sql.end({ timeout: 1 }).catch(() => {})));
      await server.stop();
    },
  };
  return made;
}

/** Returns whether a statement that needs the role succeeds on the connection, and closes the connection. */
export async function canRead(sql: postgres.Sql): Promise<boolean> {
  try {
    return (await sql`select answer from public.report`).length > 0;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {});
  }
}

/**
 * Returns a function that returns whether the statement still returns rows in the session `pid`. After a reconnect, the
 * session is another one.
 */
export function worksIn(sql: postgres.Sql, pid: number, statement: string): () => Promise<boolean> {
  return async () => {
    try {
      const rows = await sql.unsafe(`${statement}`);
      const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
      if (row.pid !== pid) await sql.end({ timeout: 0 });
      return rows.length > 0 && row.pid === pid;
    } catch {
      return false;
    }
  };
}

/** Opens a session, runs statements in it, and returns its process. */
export async function beginSession(sql: postgres.Sql, ...statements: string[]): Promise<number> {
  const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  for (const statement of statements) await sql.unsafe(statement);
  return row.pid;
}

/** Runs a statement that may be rejected, and returns whether it succeeded. */
export async function tryTo(sql: postgres.Sql, statement: string): Promise<boolean> {
  return sql.unsafe(statement).then(
    () => true,
    () => false,
  );
}
