import { readdir, readFile } from 'node:fs/promises';
import postgres from 'postgres';

/** The work of a database server between two measurements. */
export interface Cost {
  statements: number;
  commits: number;
  walBytes: number;
  /** Milliseconds of processor time of all its processes; NaN where there is no /proc. */
  processor: number;
}

/** Settings that a server needs so that its work can be counted. */
export const countingSettings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': '10000',
  // Four programs, each with pools of its own.
  max_connections: '400',
  'pg_stat_statements.track_utility': 'on',
  // The WAL of a round must not be removed before it is read.
  wal_keep_size: '1GB',
  max_wal_size: '4GB',
};

export interface CostMeter {
  /** Starts a measurement. */
  begin(): Promise<void>;
  /** Returns the work since `begin`: statements in `database`; commits, WAL and processor time of the whole server. */
  end(database: string): Promise<Cost>;
  close(): Promise<void>;
}

/**
 * Counts on the server, so that no driver, pool or queue is left out: statements by pg_stat_statements, BEGIN and COMMIT
 * among them; commits by the commit records in the WAL, so that a transaction that only reads does not count.
 */
export async function openCostMeter(url: string): Promise<CostMeter> {
  const sql = postgres(url, { max: 1, onnotice() {} });
  await sql`create extension if not exists pg_stat_statements`;
  await sql`create extension if not exists pg_walinspect`;
  const [{ pid }] = (await sql`select pg_backend_pid() as pid`) as unknown as [{ pid: number }];
  const server = (await readStat(pid))?.parent;
  let from = '';
  let processor = Number.NaN;
  return {
    async begin() {
      await sql`select pg_stat_statements_reset()`;
      processor = await processorOf(server);
      [{ from }] = (await sql`select pg_current_wal_insert_lsn()::text as "from"`) as unknown as [{ from: string }];
    },
    async end(database) {
      const used = (await processorOf(server)) - processor;
      const [cost] = await sql<[Omit<Cost, 'processor'>]>`
        with place as (select pg_current_wal_flush_lsn() as here)
        select
          (select coalesce(sum(calls), 0)::float8 from pg_stat_statements s join pg_database d on d.oid = s.dbid
           where d.datname = ${database}) as statements,
          (select coalesce(sum(count), 0)::float8 from pg_get_wal_stats(${from}::pg_lsn, here, true)
           where "resource_manager/record_type" like 'Transaction/COMMIT%') as commits,
          pg_wal_lsn_diff(here, ${from}::pg_lsn)::float8 as "walBytes"
        from place`;
      return { ...cost, processor: used };
    },
    close: () => sql.end(),
  };
}

interface Stat {
  pid: number;
  parent: number;
  /** Processor time of the process, and of its children that have ended, in hundredths of a second. */
  own: number;
  ended: number;
}

/** Reads the /proc entry of a process; null for a process that has ended, and on systems other than Linux. */
async function readStat(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The name of the program, in parentheses, may have spaces in it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const of = (index: number) => Number(fields[index]);
  return { pid, parent: of(1), own: of(11) + of(12), ended: of(13) + of(14) };
}

/** Returns the processor time of a server and its children so far, in milliseconds. */
async function processorOf(server: number | undefined): Promise<number> {
  if (server === undefined) return Number.NaN;
  const names = await readdir('/proc');
  const stats = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((name) => readStat(Number(name))));
  const each = stats.map((stat) => {
    if (stat?.pid === server) return stat.own + stat.ended;
    return stat?.parent === server ? stat.own : 0;
  });
  return 10 * each.reduce((sum, one) => sum + one, 0);
}
