import type { ListedEntitlement, ProviderRole } from '../port.js';
import { selectBuilders } from './builders.js';
import type { PostgresConfig } from './config.js';
import type { Statements } from './database.js';
import { readTarget } from './pin.js';

/** Lists the roles that can be requested, groups before people, without those that would be rejected. */
export async function listRoles(sql: Statements, config: PostgresConfig): Promise<ProviderRole[]> {
  const rows = await sql<{ name: string; database: string; description: string }[]>`
    with recursive unfit (id) as (
      select b.id from (${selectBuilders(sql)}) b
      union
      select m.member from pg_catalog.pg_auth_members m join unfit on m.roleid = unfit.id
    )
    select
      rolname as name,
      current_database() as database,
      coalesce(pg_catalog.shobj_description(oid, 'pg_authid'), '') as description
    from pg_catalog.pg_roles
    where rolname <> 'pg_database_owner'
      and (${config.allow_privileged_roles} or oid not in (select id from unfit))
    order by rolcanlogin, starts_with(rolname::text, 'pg_'), rolname`;
  return rows.map(({ name, database, description }) => ({
    name,
    arn: `postgres://${encodeURIComponent(database)}/${encodeURIComponent(name)}`,
    description,
  }));
}

/**
 * Lists the memberships of login roles that the connector's user may have granted. A membership has no field for our
 * identifier, so `id` is empty; the grantor is the only mark. It is the connector's user, or a role whose privileges
 * that user has; for a superuser, PostgreSQL 16 and newer record the bootstrap superuser.
 */
export async function listMemberships(sql: Statements): Promise<ListedEntitlement[]> {
  const target = await readTarget(sql);
  const rows = await sql<{ role: string; identity: string; roleId: number; identityId: number }[]>`
    select r.rolname as role, i.rolname as identity, r.oid::int8::float8 as "roleId", i.oid::int8::float8 as "identityId"
    from pg_catalog.pg_auth_members m
    join pg_catalog.pg_roles r on r.oid = m.roleid
    join pg_catalog.pg_roles i on i.oid = m.member
    join pg_catalog.pg_roles g on g.oid = m.grantor
    join pg_catalog.pg_roles me on me.rolname = current_user
    where i.rolcanlogin and i.oid <> me.oid and case
      when me.rolsuper and current_setting('server_version_num')::int >= 160000 then g.oid in (10, me.oid)
      when me.rolsuper then g.oid = me.oid
      else pg_catalog.pg_has_role(g.oid, 'USAGE')
    end
    group by 1, 2, 3, 4 order by 1, 2`;
  return rows.map(({ role, identity, roleId, identityId }) => ({
    id: '',
    identity,
    access: { role },
    pin: { target, subject: { role: roleId, identity: identityId } },
  }));
}
