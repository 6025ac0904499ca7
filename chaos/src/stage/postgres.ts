import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@belay/embedded-postgres';
import postgres, { type Sql } from 'postgres';
import { within } from './within.js';

export interface PostgresServer {
  port: number;
  /** Returns the superuser's URL, which uses no proxy. */
  url(database: string): string;
  ensureDatabase(name: string): Promise<void>;
  /** Ends every session of a database from the server's side. */
  terminate(database: string): Promise<void>;
  /** Shuts the server down cleanly, which ends every connection, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops all processes of the server with SIGSTOP. Returns a function that lets them continue. */
  freeze(): Promise<() => void>;
  stop(): Promise<void>;
}

/** Runs `work` on a connection of its own to a database, for a minute at most. */
export async function onConnection<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await within(work(sql), `PostgreSQL at ${new URL(url).host} did not respond`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Starts a durable PostgreSQL in a folder of its own. */
export async function startPostgres(name: string): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), `belay-chaos-${name}-`));
  await chmod(folder, 0o711);
  const said = () => readFile(join(folder, 'postgres', 'server.log'), 'utf8');
  const limit = <T>(work: Promise<T>, what: string) => within(work, `The PostgreSQL of the ${name} ${what}`, { said });
  const start = (port?: number) => {
    const starting = startEmbeddedPostgres({
      dataDirectory: folder,
      settings: { max_connections: '200' },
      ...(port === undefined ? {} : { port }),
    });
    return limit(starting, 'was neither ready nor ended');
  };
  const stop = () => limit(server.stop(), 'did not end');
  let server = await start();
  const port = Number(new URL(server.url('postgres')).port);
  return {
    port,
    url: (database) => server.url(database),
    ensureDatabase: (database) => server.ensureDatabase(database),
    async terminate(database) {
      await onConnection(
        server.url('postgres'),
        (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database}`,
      );
    },
    async restart() {
      await stop();
      server = await start(port);
    },
    async freeze() {
      const leader = await findPostmaster(server.url('postgres'));
      const family = [leader, ...(await listDescendants(leader))];
      signalAll(family, 'SIGSTOP');
      return () => signalAll(family, 'SIGCONT');
    },
    async stop() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findPostmaster(url: string): Promise<number> {
  const [row] = await onConnection(
    url,
    (sql) => sql<[{ folder: string }]>`select current_setting('data_directory') as folder`,
  );
  return Number((await readFile(join(row.folder, 'postmaster.pid'), 'utf8')).split('\n', 1)[0]);
}

/** Returns the descendants of a process, which Linux lists in /proc. */
async function listDescendants(leader: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The name of the program stands in parentheses and may contain spaces.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (Number.isSafeInteger(parent)) parents.set(Number(name), parent);
  }
  const found = [leader];
  for (const each of found) for (const [child, parent] of parents) if (parent === each) found.push(child);
  return found.slice(1);
}

/** Sends a signal to each process; a process that has already ended is ignored. */
function signalAll(processes: readonly number[], signal: NodeJS.Signals): void {
  for (const each of processes) {
    try {
      process.kill(each, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
