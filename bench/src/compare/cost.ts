import postgres from 'postgres';

/** What a database server was asked to do between two looks. */
export interface Cost {
  statements: number;
  commits: number;
  walBytes: number;
}

/** Settings that a server needs so that its work can be counted. */
export const countingSettings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': '10000',
  // Four programs, each with pools of its own.
  max_connections: '400',
  'pg_stat_statements.track_utility': 'on',
  // The WAL of a round has to be there when it is read.
  wal_keep_size: '1GB',
  max_wal_size: '4GB',
};

export interface CostMeter {
  /** Begins to count for one database, from here on. */
  begin(): Promise<void>;
  /** What was done since: statements in `database`, commits and WAL of the whole server. */
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
  let from = '';
  return {
    async begin() {
      await sql`select pg_stat_statements_reset()`;
      [{ from }] = (await sql`select pg_current_wal_insert_lsn()::text as "from"`) as unknown as [{ from: string }];
    },
    async end(database) {
      const [cost] = await sql<[Cost]>`
        with place as (select pg_current_wal_flush_lsn() as here)
        select
          (select coalesce(sum(calls), 0)::float8 from pg_stat_statements s join pg_database d on d.oid = s.dbid
           where d.datname = ${database}) as statements,
          (select coalesce(sum(count), 0)::float8 from pg_get_wal_stats(${from}::pg_lsn, here, true)
           where "resource_manager/record_type" like 'Transaction/COMMIT%') as commits,
          pg_wal_lsn_diff(here, ${from}::pg_lsn)::float8 as "walBytes"
        from place`;
      return cost;
    },
    close: () => sql.end(),
  };
}
