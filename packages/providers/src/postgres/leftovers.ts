import type { PostgresConfig } from './config.js';
import type { Statements } from './database.js';
import type { Subject } from './pin.js';

/** The largest number of remaining objects that an error names. */
const mostNamed = 5;

/**
 * Returns a sentence about what keeps the role's access without the membership, or null when nothing does. A grant is
 * rejected when something does, so a revocation finds only what was created since the grant. Checks objects and default
 * privileges that the role owns (not with `allow_privileged_roles`: a role that owns any is privileged), prepared
 * transactions that the holder could commit later, and triggers and foreign keys of the holder on tables where the
 * holder may not create any.
 */
export async function findLeftovers(sql: Statements, subject: Subject, config: PostgresConfig): Promise<string | null> {
  const { role, identity } = subject;
  const owned = !config.allow_privileged_roles;
  const rows = await sql<{ name: string; total: number }[]>`
    with recursive reach (id) as (
      select ${role.id}::int8::oid
      union
      select m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
    ),
    person (id) as (
      select ${identity.id}::int8::oid
      union
      select m.member from pg_catalog.pg_auth_members m join person p on m.roleid = p.id
    ),
    -- A transaction belongs to the role that its session had become when it was prepared.
    acting (id) as (
      select id from person
      union
      select m.roleid from pg_catalog.pg_auth_members m join acting a on m.member = a.id
      where coalesce((pg_catalog.to_jsonb(m)->>'set_option')::bool, true)
    ),
    left_behind (name) as (
      select case
          when s.dbid in (0, d.oid) then pg_catalog.pg_describe_object(s.classid, s.objid, s.objsubid)
          else 'an object in the database ' || (select o.datname from pg_catalog.pg_database o where o.oid = s.dbid)
        end
      from pg_catalog.pg_shdepend s join reach on s.refobjid = reach.id
      join pg_catalog.pg_database d on d.datname = pg_catalog.current_database()
      where ${owned} and s.refclassid = 'pg_catalog.pg_authid'::regclass and s.deptype = 'o'
      union all
      select 'the prepared transaction ' || x.gid from pg_catalog.pg_prepared_xact() x join acting on x.ownerid = acting.id
      union all
      select pg_catalog.pg_describe_object('pg_catalog.pg_trigger'::regclass, t.oid, 0)
      from pg_catalog.pg_trigger t
      join pg_catalog.pg_proc f on f.oid = t.tgfoid
      join pg_catalog.pg_class c on c.oid = t.tgrelid
      where not t.tgisinternal and f.proowner = ${identity.id}::int8::oid
        and not pg_catalog.has_table_privilege(f.proowner, c.oid, 'TRIGGER')
      union all
      select pg_catalog.pg_describe_object('pg_catalog.pg_constraint'::regclass, k.oid, 0)
      from pg_catalog.pg_constraint k
      join pg_catalog.pg_class own on own.oid = k.conrelid
      where k.contype = 'f' and own.relowner = ${identity.id}::int8::oid
        and not pg_catalog.has_any_column_privilege(own.relowner, k.confrelid, 'REFERENCES')
    )
    select name, count(*) over ()::int as total from left_behind order by name limit ${mostNamed}`;
  const [first] = rows;
  if (!first) return null;
  const names = rows.map(({ name }) => name).join(', ');
  const more = first.total > rows.length ? ` and ${first.total - rows.length} more` : '';
  return `The database still holds objects or privileges that can use the role without the membership: ${names}${more}`;
}
