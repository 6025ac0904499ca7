import type { Statements } from './database.js';

/** The holder whose sessions end: the identity, and the logins that can act as it. */
export interface Holders {
  identity: number;
  /** The revoked role: logins that hold it in another way keep their sessions. */
  role: number;
  /** A time of the server: sessions from before it have ended, and the role was not held after it. Null without such a time. */
  since: string | null;
}

/**
 * Returns the sessions of other logins whose transaction began no later than `since`, or than `at` when `since` is
 * null, and has used a table that the role may use and their own login may not. In such a transaction, a view or a
 * function of the holder runs with the holder's privileges, and the server may not check the memberships again until
 * the transaction ends, even if the function was dropped. Transactions that read with the privileges of another owner
 * look the same. For tables in other databases of the server, a login with any privilege of its own on the table counts
 * as one that may use it.
 */
export async function readBorrowers(sql: Statements, { role, since }: Holders, at: string): Promise<number[]> {
  await sql`select pg_catalog.pg_stat_clear_snapshot()`;
  const rows = await sql<{ pid: number }[]>`
    with recursive reach (id) as (
      select ${role}::int8::oid
      union
      select m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
    ),
    everything (yes) as (
      select exists (
        select from reach join pg_catalog.pg_roles r on r.oid = reach.id
        where r.rolname in ('pg_read_all_data', 'pg_write_all_data')
      )
    ),
    used as (
      select s.pid, s.usesysid as login, l.relation as id, l.database
      from pg_catalog.pg_lock_status() l
      join pg_catalog.pg_stat_get_activity(null) s on s.pid = l.pid
      join pg_catalog.pg_roles r on r.oid = s.usesysid
      where l.locktype = 'relation' and l.granted and l.relation::int8 >= 16384 and l.database <> 0
        and not r.rolsuper and r.rolname not in (current_user, session_user)
        and not pg_catalog.pg_has_role(r.oid, ${role}::int8::oid, 'USAGE')
        -- The start is null for a user who may not read the statistics of others; such a transaction counts.
        and (s.xact_start is null or s.xact_start <= coalesce(${since}::text, ${at}::text)::timestamptz)
    )
    select distinct u.pid
    from used u join pg_catalog.pg_database d on d.oid = u.database
    where case when d.datname = pg_catalog.current_database() then
      exists (
        select from pg_catalog.pg_attribute a, (values ('SELECT'), ('INSERT'), ('UPDATE')) p (name)
        where a.attrelid = u.id and a.attnum > 0 and not a.attisdropped
          and pg_catalog.has_column_privilege(${role}::int8::oid, u.id, a.attnum, p.name)
          and not pg_catalog.has_column_privilege(u.login, u.id, a.attnum, p.name)
      ) or exists (
        select from (values ('DELETE'), ('TRUNCATE')) p (name)
        where pg_catalog.has_table_privilege(${role}::int8::oid, u.id, p.name)
          and not pg_catalog.has_table_privilege(u.login, u.id, p.name)
      )
    else
      ((select yes from everything) or exists (
        select from pg_catalog.pg_shdepend s join reach on s.refobjid = reach.id
        where s.dbid = u.database and s.classid = 'pg_catalog.pg_class'::regclass and s.objid = u.id and s.deptype = 'a'
      )) and not exists (
        select from pg_catalog.pg_shdepend s
        where s.dbid = u.database and s.classid = 'pg_catalog.pg_class'::regclass and s.objid = u.id
          and s.refclassid = 'pg_catalog.pg_authid'::regclass and s.deptype in ('a', 'o')
          and pg_catalog.pg_has_role(u.login, s.refobjid, 'USAGE')
      )
    end`;
  return rows.map(({ pid }) => pid);
}
