import { TargetDoubted } from '../errors.js';
import type { Course, Sighting, Trust } from '../history.js';
import { quoteName } from './config.js';
import type { Database, Statements } from './database.js';
import { isForbidden } from './faults.js';

/** What precedes the mark in the setting that holds it. */
const prefix = 'belay-mark:';

/**
 * Reads the sighting of a server. The mark is a setting of the connector's role in this database (`application_name`), which every role
 * may set for itself; the name of its sessions is set by the connection. The timeline is that of the file which is written now, because
 * `pg_control_checkpoint()` shows the earlier one until the first checkpoint after a promotion. The position is that of the flushed log,
 * which no crash takes back.
 */
export async function readSighting(sql: Statements): Promise<Sighting> {
  const [row] = await sql<[Omit<Sighting, 'otherMarks'> & { others: string }]>`
    with marks (own, mark) as (
      select r.rolname = current_user, pg_catalog.substr(one.setting, pg_catalog.length(${`application_name=${prefix}`}::text) + 1)
      from pg_catalog.pg_db_role_setting s
      join pg_catalog.pg_database d on d.oid = s.setdatabase and d.datname = pg_catalog.current_database()
      join pg_catalog.pg_roles r on r.oid = s.setrole
      cross join lateral pg_catalog.unnest(s.setconfig) as one (setting)
      where pg_catalog.starts_with(one.setting, ${`application_name=${prefix}`}::text)
    )
    select c.system_identifier::text || '/' || d.oid::text as target,
      case when pg_catalog.pg_is_in_recovery() then 'is a standby or is still in recovery' end as unsettling,
      pg_catalog.to_char(pg_catalog.pg_postmaster_start_time() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as instance,
      case when not pg_catalog.pg_is_in_recovery() then
        pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_flush_lsn()), 1, 8)
          || ' ' || pg_catalog.pg_current_wal_flush_lsn()::text end as position,
      (select mark from marks where own) as mark,
      (select coalesce(pg_catalog.jsonb_agg(mark), '[]') from marks where not own)::text as others
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()`;
  const { others, ...sighting } = row;
  return { ...sighting, otherMarks: JSON.parse(others) as string[] };
}

/** Writes the mark. Returns whether the account may. */
export async function writeMark(sql: Statements, mark: string): Promise<boolean> {
  const [here] = await sql<[{ name: string }]>`select pg_catalog.current_database()::text as name`;
  const statement = `alter role current_user in database ${quoteName(here.name)} set application_name = '${prefix}${mark.replaceAll("'", '')}'`;
  try {
    await sql.savepoint((one) => one.unsafe(statement));
    return true;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}

/** Compares positions: the timeline in hexadecimal digits, a space, and the place in the log as PostgreSQL writes it. */
export function comparePositions(known: string, seen: string): Course {
  const [before, now] = [parse(known), parse(seen)];
  if (now.timeline !== before.timeline) return now.timeline > before.timeline ? 'forked' : 'behind';
  return now.place < before.place ? 'behind' : 'ahead';
}

function parse(position: string): { timeline: number; place: bigint } {
  const [, timeline, high, low] = /^([0-9A-F]{8}) ([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/.exec(position) ?? [];
  if (timeline === undefined || high === undefined || low === undefined)
    throw new Error('A stored position is not valid');
  return { timeline: Number.parseInt(timeline, 16), place: (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) };
}

/**
 * Returns the database each of whose transactions asks `trust` before its work. Another database of the server has no mark of its own, so
 * there only the server is compared: several addresses, or a balancer, may lead to another one.
 */
export function trustingDatabase(database: Database, trust: Trust): Database {
  let latest: Sighting | undefined;
  const trusted =
    <T>(work: (sql: Statements) => Promise<T>) =>
    async (sql: Statements): Promise<T> => {
      await trust(async () => {
        latest = await readSighting(sql);
        return latest;
      });
      return work(sql);
    };
  return {
    ...database,
    transaction: (signal, work, lockMilliseconds) => database.transaction(signal, trusted(work), lockMilliseconds),
    read: (signal, work) => database.read(signal, trusted(work)),
    elsewhere: (name, signal, work) =>
      database.elsewhere(name, signal, async (sql) => {
        const here = await readSighting(sql);
        if (latest && here.instance !== latest.instance) throw new TargetDoubted('One call reached two servers');
        return work(sql);
      }),
  };
}
